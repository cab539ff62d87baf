package import CloudKit

/// A field type in the wire's notation: `INT64`, `STRING_LIST`.
package enum WireTypeTag: Hashable, Sendable, CustomStringConvertible {
  case scalar(FieldType)
  case list(FieldType)

  /// Parses a wire type; nil if this library cannot write it.
  package init?(_ name: String) {
    if let scalar = Self.scalar(name) {
      self = .scalar(scalar)
    } else if name.hasSuffix("_LIST"), let element = Self.scalar(String(name.dropLast("_LIST".count))) {
      self = .list(element)
    } else {
      return nil
    }
  }

  package var description: String {
    switch self {
    case .scalar(let type): type.rawValue
    case .list(let element): element.rawValue + "_LIST"
    }
  }

  /// The types that `FIELD:TYPE=VALUE` accepts.
  package static let writable: [String] = {
    let scalars = FieldType.allCases.filter { $0 != .unknown && $0 != .asset }.map(\.rawValue)
    return scalars + scalars.map { $0 + "_LIST" }
  }()

  package var isList: Bool { if case .list = self { true } else { false } }

  /// Returns the type that a person wrote for a field, in any letter case.
  ///
  /// - Throws: `FieldError` with the types that can be given.
  package static func written(
    _ name: String,
    for field: String,
    mayBeAsset: Bool = false
  ) throws(FieldError) -> WireTypeTag {
    let known = writable + (mayBeAsset ? [FieldType.asset.rawValue] : [])
    guard let tag = WireTypeTag(name.uppercased()), known.contains(tag.description) else {
      let list = known.joined(separator: ", ")
      throw FieldError(field: field, "\(field) cannot be given the type '\(name)'; write one of \(list)")
    }
    return tag
  }

  private static func scalar(_ name: String) -> FieldType? {
    if name == "ASSET" { return .asset }
    guard let type = FieldType(rawValue: name), type != .unknown else { return nil }
    return type
  }
}
