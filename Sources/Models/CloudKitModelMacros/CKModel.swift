@_exported public import CloudKitModels

/// Makes a struct or a final class a record model: adds `CKFieldModel` and `Codable` conformance and a typed list of
/// its fields.
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
/// - The record type is the type's name, written as a literal in the expansion. To use another, pass `recordType:` or
///   declare `static let recordType`. Set it before you rename a type whose records are on the server.
/// - The identity is a stored `recordName`; otherwise a stored `id` that is a `UUID` or `LosslessStringConvertible`,
///   such as a `String` or an integer; otherwise a computed property of one of these names. A stored identity is the
///   record name, not a field. With `id`, the type also conforms to `Identifiable`.
/// - Every other stored property is a field, except `lazy` ones. The field has the property's name or the one set with
///   `@CKField`. A property with a default value keeps it if the record lacks the field, so that properties can be
///   added to a model that has older records. Nil and empty lists are stored as a missing value, so optional properties
///   and lists read a missing value as nil or empty instead of their default.
/// - `Fields` has one case for each field. Its raw value is the field's name on the server. `queryKey(for:)` returns it
///   for a key path of the property, and `fieldProperties` the key paths by field, from which `CKSchema` makes a
///   schema.
/// - A property marked `@CKField(asset: true)` is stored as an asset. One marked `@CKSystem` is a system value of the
///   record and not a field.
/// - A type with its own `CodingKeys` keeps them. They select and name the fields, so a property without a case is not
///   stored. The type's own `init(from:)` and `encode(to:)` are kept too. A type that declares only one of `Encodable`
///   and `Decodable` gets no conformance to the other.
///
/// The generated members have the access level of the type.
///
/// - Parameter recordType: The record type, as a literal.
@attached(
  extension,
  conformances: CKFieldModel,
  Encodable,
  Decodable,
  Identifiable,
  names: named(recordType),
  named(recordNameKey),
  named(assetKeys),
  named(referenceActions),
  named(systemKeys),
  named(Fields),
  named(queryKey(for:)),
  named(fieldProperties),
  named(CodingKeys),
  named(init(from:)),
  named(encode(to:))
)
@attached(member, names: named(init()), named(init(from:)))
public macro CKModel(recordType: String? = nil) = #externalMacro(module: "CloudKitMacros", type: "CKModelMacro")

/// Sets how a property of a `@CKModel` type is stored.
///
/// ```swift
/// @CKField("done") var isDone = false
/// @CKField(asset: true) var thumbnail: Data?
/// @CKField(reference: .deleteSelf) var department: Link<Department>?
/// ```
///
/// - Parameters:
///   - name: The field's name on the server, as a literal: a letter, then letters, digits and underscores. The default
///     is the property's name.
///   - asset: Whether the value is stored as an asset; see `CKRecordModel.assetKeys`. File URLs and `CKAsset` values
///     always are.
///   - reference: What happens to the record when the target of a reference is deleted; see
///     `CKRecordModel.referenceActions`.
@attached(peer)
public macro CKField(_ name: String? = nil, asset: Bool = false, reference: CKReferenceActions.Value? = nil) =
  #externalMacro(module: "CloudKitMacros", type: "CKFieldMacro")

/// Makes a property of a `@CKModel` type a system value of the record instead of a field. The property must be an
/// optional variable of the type that `CKSystemValue` states.
///
/// ```swift
/// @CKSystem(.creationDate) var createdAt: Date?
/// @CKSystem(.changeTag) var version: String?
/// ```
///
/// - Parameter value: The system value, written as a case such as `.creationDate`. A model can have each only once.
@attached(peer)
public macro CKSystem(_ value: CKSystemValue) = #externalMacro(module: "CloudKitMacros", type: "CKSystemMacro")
