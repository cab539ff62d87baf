package import CloudKit
import CloudKitSchema
import Facts

extension WireTypeTag {
  /// Whether a field of this type would be stored in plain text where the other type encrypts it.
  package func exposes(_ other: String) -> Bool { self == plain && Self.isEncrypted(other) }

  /// Returns a value of the plain type as one of this type.
  package func marking(_ value: FieldValue) -> FieldValue {
    if case .encrypted = self { .encrypted(value) } else { value }
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
          + "\(CKSchema.FieldType.listSuffix) after it is a list of it, and \(CKSchema.FieldType.encryptedPrefix) before it "
          + "an encrypted field"
      )
    }
    return tag
  }

  private static let writable = FieldType.allCases.filter { $0 != .unknown && $0 != .asset }.map(\.rawValue)
    .joined(separator: ", ")
}
