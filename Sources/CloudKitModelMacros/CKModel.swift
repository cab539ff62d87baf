@_exported public import CloudKitModels

/// Makes a struct or a final class a model of records: `CKRecordModel` and `Codable`, with a typed list of its fields.
///
/// ```swift
/// @CKModel
/// struct Note {
///   let id: UUID
///   var title: String
///   @CKField("done") var isDone = false
///   var due: Date?
/// }
/// ```
///
/// - The record type is the type's name, spelled out in the expansion; give another by `recordType:`, or declare
///   `static let recordType`. Name it before you rename a type whose records are on the server.
/// - The identity is a stored `recordName`, else a stored `id` of type `String`, `UUID` or integer, else a computed one of
///   these. A stored identity is the record's name and no field. `id` also makes the type `Identifiable`.
/// - Every other stored property is a field, except for `lazy` ones, with its own name or that of `@CKField`. A property
///   with a default value keeps it where the record has no such field, so that a new one can be added to a model
///   whose records are older. Nothing is what nil and an empty list are written as: that is what they read as.
/// - `Fields` has one case for each field; its raw value is the field's name on the server.
/// - A type with `CodingKeys` of its own keeps them: they choose and name the fields, which is the way to leave a
///   property out. `init(from:)` and `encode(to:)` of the type's own are kept, too, and a type that declares just one of
///   `Encodable` and `Decodable` is made nothing more.
///
/// What is made is as accessible as the type.
///
/// - Parameter recordType: The record type, as a literal.
@attached(
  extension,
  conformances: CKRecordModel,
  Encodable,
  Decodable,
  Identifiable,
  names: named(recordType),
  named(recordNameKey),
  named(Fields),
  named(CodingKeys),
  named(init(from:)),
  named(encode(to:))
)
@attached(member, names: named(init()), named(init(from:)))
public macro CKModel(recordType: String? = nil) = #externalMacro(module: "CloudKitMacros", type: "CKModelMacro")

/// Names the field of a property of a `@CKModel` type, where it is not called like the property.
///
/// - Parameter name: The field's name on the server, as a literal: a letter first, then letters, digits and underscores.
@attached(peer)
public macro CKField(_ name: String) = #externalMacro(module: "CloudKitMacros", type: "CKFieldMacro")
