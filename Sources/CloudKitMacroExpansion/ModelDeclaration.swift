internal import SwiftSyntax

/// A type as a model of records: what an expansion is written from.
struct ModelDeclaration {
  /// One key of the model and what it is called in a record.
  struct Key {
    let property: StoredProperty
    let fieldName: String
  }

  /// The modifier that members need to be as accessible as the type, with a space after it.
  var access = ""
  var isClass = false
  /// The record type as a literal; nil where the type declares it.
  var recordType: String?
  /// The stored identity; nil where it is computed.
  var identity: Key?
  /// Whether the identity is called `id`.
  var isIdentifiable = false
  /// One for each field of the record.
  var fields: [Key] = []
  /// Whether coding keys are to be made, rather than taken from the type.
  var makesCodingKeys = true
  var isDecodable = true
  var isEncodable = true
  /// Whether `init(from:)` and `encode(to:)` are to be made.
  var makesDecoding = true
  var makesEncoding = true
  /// Whether an initializer without arguments, which a class has as long as it has no other, would be lost.
  var makesEmptyInitializer = false

  /// Everything that is coded.
  var keys: [Key] { (identity.map { [$0] } ?? []) + fields }
}
