internal import SwiftSyntax

/// The description of a model type, from which its expansion is generated.
struct ModelDeclaration {
  /// A coding key of the model with its name in records.
  struct Key {
    let property: StoredProperty
    let fieldName: String
  }

  /// A property that is a system value of the record.
  struct SystemKey {
    let key: Key
    /// The name of the case of `CKSystemValue`.
    let value: String

    /// The name by which queries find the value; nil if they cannot.
    var queryKey: String? {
      switch value {
      case "creationDate", "modificationDate": value
      case "creatorUserRecordName": "creatorUserRecordID"
      case "lastModifiedUserRecordName": "lastModifiedUserRecordID"
      default: nil
      }
    }
  }

  /// The access modifier for generated members, followed by a space; empty if none is needed.
  var access = ""
  var isClass = false
  /// The record type as an expression; nil if the type declares `recordType`.
  var recordType: String?
  /// The stored identity; nil if it is computed.
  var identity: Key?
  /// Whether the identity is named `id`.
  var isIdentifiable = false
  /// The fields of the record.
  var fields: [Key] = []
  var systemKeys: [SystemKey] = []
  /// Whether to generate coding keys, because the type has none.
  var makesCodingKeys = true
  var isDecodable = true
  var isEncodable = true
  /// Whether to generate `init(from:)` and `encode(to:)`.
  var makesDecoding = true
  var makesEncoding = true
  /// Whether to generate an initializer without arguments, because a class loses its implicit one when others are
  /// added.
  var makesEmptyInitializer = false

  /// The identity, the fields and the system values.
  var keys: [Key] { (identity.map { [$0] } ?? []) + fields + systemKeys.map(\.key) }
  /// The fields that are stored as assets.
  var assets: [Key] { fields.filter(\.property.isAsset) }
  /// The fields whose references have an action.
  var references: [Key] { fields.filter { $0.property.referenceAction != nil } }
}
