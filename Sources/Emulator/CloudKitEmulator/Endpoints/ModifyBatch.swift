import CloudKitSchema
import Foundation
import JSONText

/// The operations of one `records/modify`. Each is decided against the zone as it was before the request. The table of
/// operations (reference 5.3) gives the effect of each on a record that exists, has changed, or does not exist. [D]
struct ModifyBatch {
  /// The effect of an operation if the batch succeeds.
  enum Effect {
    case save(StoredRecord.Content, previous: StoredRecord?, learning: [String: CKSchema.FieldType])
    case delete
    /// A participant leaves a share; the share stays.
    case leave(StoredRecord.Content)
    /// A forced deletion of a record that does not exist.
    case nothing
  }

  /// An operation and its outcome.
  struct Step {
    var name: String?
    var keys: Set<String>?
    var outcome: Result<Effect, ServerError>
  }

  let endpoint: Endpoint
  let view: ZoneView
  /// The caller's permissions by the schema in the public database; `nil` elsewhere.
  let guards: SchemaGuard?
  let schema: CKSchema
  let configuration: EmulatorConfiguration

  var steps: [Step] = []
  /// The types and fields that operations of this batch add, including operations that failed later. Within a batch, a
  /// field has one type.
  private(set) var used: [String: [String: CKSchema.FieldType]] = [:]

  init(_ endpoint: Endpoint, in view: ZoneView) {
    (self.endpoint, self.view) = (endpoint, view)
    (guards, schema, configuration) = (endpoint.guards, endpoint.schema ?? .predefined, endpoint.configuration)
  }

  var zone: ZoneState { view.zone }
  private var assumptions: EmulatorAssumptions { configuration.assumptions }

  /// The types and fields that the successful steps add.
  var learnt: [String: [String: CKSchema.FieldType]] {
    steps.reduce(into: [:]) { learnt, step in
      guard case .success(.save(let content, _, let fields)) = step.outcome else { return }
      learnt[content.type, default: [:]].merge(fields) { known, _ in known }
    }
  }

  /// Decides one operation and appends its step.
  mutating func add(_ type: OperationType, _ record: JSONObject, name: String?, keys: Set<String>?) {
    let outcome = Result { () throws(ServerError) in try decide(type, record, name: name) }
    steps.append(Step(name: name, keys: keys, outcome: outcome))
  }

  private mutating func decide(_ type: OperationType, _ json: JSONObject, name: String?) throws(ServerError) -> Effect {
    guard let name, StoredRecord.isName(name) else { throw .badRequest("Missing or invalid 'recordName'") }
    if endpoint.call.faults.isPoisoned(name) { throw .badRequest("Record '\(name)' cannot be processed") }
    try requireSameZone(json)
    let old = endpoint.record(name, in: view)
    if old == nil, view.access != nil, zone.records[name] != nil {
      throw CKSchema.Permission.write.refusal
    }
    let tag = json["recordChangeTag"]?.string
    switch type {
    case .create:
      // The wording is that of native logs. [2nd]
      if old != nil { throw ServerError(.exists, "record to insert already exists") }
      return try save(json, name: name, over: nil, keepingFields: false)
    case .update, .replace:
      guard let old else { throw missing }
      try requireWrite(old)
      guard let tag else { throw missingTag }
      guard tag == old.tag else { throw Self.conflict }
      return try save(json, name: name, over: old, keepingFields: type == .update)
    case .forceUpdate, .forceReplace:
      if let old { try requireWrite(old) }
      // [D]
      guard json["recordType"] != nil else { throw .badRequest("Missing 'recordType'") }
      return try save(json, name: name, over: old, keepingFields: type == .forceUpdate)
    case .delete:
      guard let old else { throw Self.notFound }
      if let end = try leave(old) { return end }
      try requireWrite(old)
      // The documentation is contradictory; by default, a deletion without a tag is forced. [E] (Question 5)
      if tag == nil, assumptions.deletionWithoutTag == .badRequest { throw Self.noTag }
      if let tag, tag != old.tag { throw Self.conflict }
      return try delete(old)
    case .forceDelete:
      guard let old else {
        // [E] (Question 6)
        if assumptions.missingForceDelete == .notFound { throw Self.notFound }
        return .nothing
      }
      if let end = try leave(old) { return end }
      try requireWrite(old)
      return try delete(old)
    }
  }

  /// The wording is that of native logs. [2nd]
  static let conflict = ServerError(.conflict, "record to update already exists with a different change tag")

  private static let notFound = ServerError(.notFound, "Record not found")
  private static let noTag = ServerError.badRequest("Missing 'recordChangeTag'")

  /// [E] (Question 4)
  private var missing: ServerError { assumptions.missingUpdate == .notFound ? Self.notFound : Self.conflict }
  private var missingTag: ServerError { assumptions.updateWithoutTag == .badRequest ? Self.noTag : Self.conflict }

  /// Returns the effect of a participant who deletes the share in the shared database: the participant leaves, whatever
  /// their permission. [E] (Question 19)
  private func leave(_ record: StoredRecord) throws(ServerError) -> Effect? {
    guard let access = view.access, record.content.sharing != nil else { return nil }
    guard assumptions.participantsLeaveByDeletingShares else { throw CKSchema.Permission.write.refusal }
    var content = record.content
    content.sharing?.remove(access.user)
    return .leave(content)
  }

  private func delete(_ record: StoredRecord) throws(ServerError) -> Effect {
    // [E]
    guard record.type != CKSchema.usersType else { throw .badRequest("Records of type 'Users' cannot be deleted") }
    return .delete
  }

  /// Rejects a record whose zone ID differs from the request's. Repeating the request's zone ID is allowed. [E]
  private func requireSameZone(_ json: JSONObject) throws(ServerError) {
    guard let zoneID = json["zoneID"] else { return }
    guard try Endpoint.zoneName(zoneID).name == zone.name else {
      throw .badRequest("The record's zone differs from the zone of the request")
    }
  }

  private func requireWrite(_ record: StoredRecord) throws(ServerError) {
    if let access = view.access, access.permission(in: zone.share(of: record.name)) != .readWrite {
      throw CKSchema.Permission.write.refusal
    }
    guard let guards, !guards.may(.write, schema[record.type], madeBy: record.created.userRecordName) else { return }
    throw CKSchema.Permission.write.refusal
  }

  private func requireCreate(_ type: String) throws(ServerError) {
    guard let guards, !guards.may(.create, schema[type]) else { return }
    throw CKSchema.Permission.create.refusal
  }

  private mutating func save(
    _ json: JSONObject,
    name: String,
    over old: StoredRecord?,
    keepingFields: Bool
  ) throws(ServerError) -> Effect {
    guard let type = json["recordType"]?.string ?? old?.type else { throw .badRequest("Missing 'recordType'") }
    if let old {
      // Record names are unique across types. [E]
      guard old.type == type else { throw .badRequest("Record '\(name)' has type '\(old.type)', not '\(type)'") }
    } else {
      try requireCreate(type)
      // [E]
      guard type != CKSchema.usersType else { throw .badRequest("Records of type 'Users' cannot be created") }
    }
    try requireType(type)
    var content = StoredRecord.Content(name: name, type: type)
    if let old, keepingFields { content = old.content }
    // A client cannot change the keys that the server adds. [E]
    content.share = old?.content.share
    content.shortGUID = content.shortGUID ?? old?.content.shortGUID
    let fields = try apply(json["fields"], to: &content)
    try applyHierarchy(json, to: &content)
    if type == CKSchema.shareType { try applyShare(json, to: &content, over: old) }
    guard content.size <= configuration.recordSizeLimit else {
      throw configuration.exceeded("Record is larger than \(configuration.recordSizeLimit) bytes")
    }
    used[type, default: [:]].merge(fields) { known, _ in known }
    return .save(content, previous: old, learning: fields)
  }

  private func requireType(_ type: String) throws(ServerError) {
    guard type != CKSchema.shareType else { return }
    // The documented name fails with this error. [L3]
    guard type != "cloudKit.share" else { throw Self.noRoot }
    guard CKSchema.isName(type) else { throw .badRequest("Invalid record type '\(type)'") }
    if schema[type] == nil, !endpoint.learnsSchema {
      throw refusal("Cannot create new type \(type) in production schema")
    }
  }

  /// The reason comes from native logs; the code is a guess. [2nd] (Question 14)
  private func unknownField(_ name: String, of type: String) -> ServerError {
    refusal("Cannot create or modify field '\(name)' in record '\(type)' in production schema")
  }

  private func refusal(_ reason: String) -> ServerError {
    ServerError(assumptions.unknownField == .badRequest ? .badRequest : .notFound, reason)
  }

  /// Sets and clears fields, and returns the fields that are not in the schema. `null` clears a field, like a missing
  /// value. [C]
  private func apply(
    _ json: JSON?,
    to content: inout StoredRecord.Content
  ) throws(ServerError) -> [String: CKSchema.FieldType] {
    guard let json else { return [:] }
    guard let fields = json.object else { throw .badRequest("Unexpected input in 'fields'") }
    try checkFieldCount(fields.members.count)
    var unknown: [String: CKSchema.FieldType] = [:]
    // Read once for all fields, because each use of `self` in the loop would copy it.
    let (type, learnsSchema) = (content.type, endpoint.learnsSchema)
    let (inSchema, inBatch) = (schema[type]?.fields ?? [:], used[type] ?? [:])
    let fraction = assumptions.timestampFraction
    let asset = { [endpoint, zone, record = content.name] (object: JSONObject, field: String) throws(ServerError) in
      try endpoint.asset(object, for: record, field: field, in: zone)
    }
    content.fields.reserveCapacity(fields.members.count)
    // The fields are sorted as in the record, so each one is appended at the end.
    for member in fields.members.sorted(by: { $0.key < $1.key }) {
      let name = member.key
      guard CKSchema.isField(name, of: type) else { throw .badRequest("Invalid field name '\(name)'") }
      if member.value.isNull {
        content.fields[name] = nil
        continue
      }
      let known = inSchema[name] ?? inBatch[name].map { CKSchema.Field(type: $0) }
      let incoming = try FieldDecoding.field(name, member.value, known: known, fraction: fraction, asset: asset)
      switch incoming {
      case .clear: content.fields[name] = nil
      case .set(let value, let field):
        // [L3]
        if field?.isEncrypted == true, guards != nil {
          throw .badRequest("encrypted fields are not supported in the public database")
        }
        if known == nil, !learnsSchema { throw unknownField(name, of: content.type) }
        // [E] (Question 15)
        if known == nil, case .list(_, []) = value, !assumptions.emptyListsAddFields {
          throw .badRequest("Cannot create field '\(name)' in record '\(content.type)' from an empty list")
        }
        // [E] (Question 22)
        if case .list(_, let elements) = value, let limit = assumptions.listLimit, elements.count > limit {
          throw .badRequest("Field '\(name)' has more than \(limit) elements")
        }
        if inSchema[name] == nil, let field { unknown[name] = field }
        content.fields[name] = value
      }
    }
    try checkFieldCount(content.fields.members.count)
    return unknown
  }

  private func checkFieldCount(_ count: Int) throws(ServerError) {
    guard count > configuration.fieldLimit else { return }
    throw configuration.exceeded("Record has more than \(configuration.fieldLimit) fields")
  }

  private func applyHierarchy(_ json: JSONObject, to content: inout StoredRecord.Content) throws(ServerError) {
    // `null` removes the parent. [E]
    if let parent = json["parent"] {
      guard let name = parent.object?["recordName"]?.string, StoredRecord.isName(name) else {
        throw .badRequest("Invalid 'parent'")
      }
      content.parent = name
    } else if json.members.contains(where: { $0.key == "parent" }) {
      content.parent = nil
    }
    if json["createShortGUID"]?.bool == true {
      content.shortGUID = Self.shortGUID(content.name, in: zone)
    }
  }
}

/// The seven operation types of `records/modify`. [D]
enum OperationType: String {
  case create, update, forceUpdate, replace, forceReplace, delete, forceDelete
}
