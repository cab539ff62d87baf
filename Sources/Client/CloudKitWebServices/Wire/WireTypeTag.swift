internal import CloudKitSchema

/// A field type in the wire's notation: `INT64`, `STRING_LIST`, `ENCRYPTED_STRING`.
package enum WireTypeTag: Hashable, Sendable, CustomStringConvertible {
  case scalar(FieldType)
  case list(FieldType)
  /// The type of a field that the schema declares as encrypted.
  indirect case encrypted(WireTypeTag)

  /// Parses a wire type; nil if this library cannot write it.
  package init?(_ name: String) {
    if let scalar = FieldType(wireTag: name) {
      self = .scalar(scalar)
    } else if name.hasSuffix(CKSchema.FieldType.listSuffix),
      let element = FieldType(wireTag: String(name.dropLast(CKSchema.FieldType.listSuffix.count)))
    {
      self = .list(element)
    } else if Self.isEncrypted(name),
      let plain = WireTypeTag(String(name.dropFirst(CKSchema.FieldType.encryptedPrefix.count))), plain.hasEncryptedForm
    {
      self = .encrypted(plain)
    } else {
      return nil
    }
  }

  package var description: String {
    switch self {
    case .scalar(let type): type.rawValue
    case .list(let element): element.rawValue + CKSchema.FieldType.listSuffix
    case .encrypted(let plain): CKSchema.FieldType.encryptedPrefix + plain.description
    }
  }

  /// Whether a wire type, which this library may not know, is encrypted.
  package static func isEncrypted(_ name: String) -> Bool { name.hasPrefix(CKSchema.FieldType.encryptedPrefix) }

  /// Whether a wire type is that of empty lists, encrypted or not, whose elements have no type.
  package static func isUnknownList(_ name: String) -> Bool { name.hasSuffix(unknownList) }

  /// The wire type of an empty list whose elements have no type.
  package static let unknownList = WireTypeTag.list(.unknown).description

  /// The type without encryption.
  package var plain: WireTypeTag { if case .encrypted(let plain) = self { plain } else { self } }

  package var isList: Bool { if case .list = plain { true } else { false } }

  /// The type of the value, or of the elements of the list.
  package var element: FieldType {
    switch self {
    case .scalar(let type), .list(let type): type
    case .encrypted(let plain): plain.element
    }
  }

  /// The schema language encrypts neither references nor files.
  private var hasEncryptedForm: Bool {
    if case .encrypted = self { false } else { ![.reference, .asset, .unknown].contains(element) }
  }
}

extension FieldType {
  /// Creates the scalar type of a tag. The documentation calls `ASSETID` `ASSET`.
  init?(wireTag: String) {
    switch wireTag {
    case "ASSET": self = .asset
    case FieldType.unknown.rawValue: return nil
    default: self.init(rawValue: wireTag)
    }
  }
}
