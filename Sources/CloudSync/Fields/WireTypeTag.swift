package import CloudKit
import Facts

/// A field type in the wire's notation: `INT64`, `STRING_LIST`, `ENCRYPTED_STRING`.
package indirect enum WireTypeTag: Hashable, Sendable, CustomStringConvertible {
  case scalar(FieldType)
  case list(FieldType)
  /// The type of a field that the schema declares as encrypted.
  case encrypted(WireTypeTag)

  /// Parses a wire type; nil if this library cannot write it.
  package init?(_ name: String) {
    if let scalar = Self.scalar(name) {
      self = .scalar(scalar)
    } else if name.hasSuffix("_LIST"), let element = Self.scalar(String(name.dropLast("_LIST".count))) {
      self = .list(element)
    } else if name.hasPrefix(FieldValue.encryptedPrefix),
      let plain = WireTypeTag(String(name.dropFirst(FieldValue.encryptedPrefix.count))), plain.hasEncryptedForm
    {
      self = .encrypted(plain)
    } else {
      return nil
    }
  }

  package var description: String {
    switch self {
    case .scalar(let type): type.rawValue
    case .list(let element): element.rawValue + "_LIST"
    case .encrypted(let plain): FieldValue.encryptedPrefix + plain.description
    }
  }

  /// The type without encryption.
  package var plain: WireTypeTag { if case .encrypted(let plain) = self { plain } else { self } }

  /// Whether a field of this type would be stored in plain text where the other type encrypts it.
  package func exposes(_ other: String) -> Bool {
    self == plain && other.hasPrefix(FieldValue.encryptedPrefix)
  }

  package var isList: Bool { if case .list = plain { true } else { false } }

  /// The type of the value, or of the elements of the list.
  package var element: FieldType {
    switch self {
    case .scalar(let type), .list(let type): type
    case .encrypted(let plain): plain.element
    }
  }

  /// Returns a value of the plain type as one of this type.
  package func marking(_ value: FieldValue) -> FieldValue {
    if case .encrypted = self { .encrypted(value) } else { value }
  }

  /// The schema language encrypts neither references nor files.
  private var hasEncryptedForm: Bool {
    if case .encrypted = self { false } else { ![.reference, .asset, .unknown].contains(element) }
  }

  /// Returns the type that a person wrote for a field, in any letter case.
  ///
  /// - Throws: `FieldError` with the types that can be given.
  package static func written(
    _ name: String,
    for field: String,
    mayBeAsset: Bool = false
  ) throws(FieldError) -> WireTypeTag {
    guard let tag = WireTypeTag(name.uppercased()), tag.element != .asset || mayBeAsset && !tag.isList else {
      throw FieldError(
        field: field,
        "\(field) cannot be given the type '\(name.excerpt)'; write one of \(writable)\(mayBeAsset ? ", or ASSETID" : ""); "
          + "_LIST after it is a list of it, and ENCRYPTED_ before it an encrypted field"
      )
    }
    return tag
  }

  private static let writable = FieldType.allCases.filter { $0 != .unknown && $0 != .asset }.map(\.rawValue)
    .joined(separator: ", ")

  private static func scalar(_ name: String) -> FieldType? {
    if name == "ASSET" { return .asset }
    guard let type = FieldType(rawValue: name), type != .unknown else { return nil }
    return type
  }
}
