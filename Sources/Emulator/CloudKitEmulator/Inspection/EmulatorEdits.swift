public import Foundation
import JSONText
import Synchronization

/// An error of a direct edit, with the server's code and reason.
public struct EmulatorError: Error, Sendable, Hashable {
  /// The server's code, e.g. `CONFLICT`.
  public var code: String
  /// The server's reason.
  public var reason: String

  init(_ error: ServerError) {
    code = error.code.rawValue
    reason = error.reason
  }
}

/// A record as stored on the server.
public struct EmulatorRecord: Sendable, Hashable {
  /// The record's name.
  public var recordName: String
  /// The record's type.
  public var recordType: String
  /// The change tag of this version.
  public var changeTag: String
  /// The fields that have a value.
  public var fields: [String: EmulatorValue]
  /// The time of the last change, in milliseconds since 1970.
  public var modified: Int64
  /// The record name of the user who made the last change.
  public var modifiedBy: String
}

/// Edits like those of another device. They obey the rules of `records/modify`, but faults and rate limits do not
/// apply, and they do not count as requests.
extension Emulator {
  /// Saves fields of a record (`forceUpdate`). Creates the record if it does not exist.
  ///
  /// - Parameters:
  ///   - database: The public database of a container, or the private database of a user.
  ///   - zone: The zone's name. A custom zone must exist.
  ///   - user: The name of the user who writes. In a private database the default is its owner; in the public database
  ///     a name is required.
  ///   - recordType: The record's type.
  ///   - recordName: The record's name.
  ///   - fields: The fields to set, or to clear if `nil`. Other fields do not change.
  ///   - time: The time of the edit, for the record's timestamps.
  /// - Throws: `EmulatorError`, e.g. `ZONE_NOT_FOUND`, or `BAD_REQUEST` for a value that does not have the field's
  ///   type.
  @discardableResult
  public func save(
    in database: EmulatorDatabase,
    zone: String = "_defaultZone",
    user: String? = nil,
    recordType: String,
    recordName: String,
    fields: [String: EmulatorValue?],
    at time: Date
  ) throws(EmulatorError) -> EmulatorRecord {
    var json = JSONObject()
    let encoding = FieldEncoding(asset: receipts(in: database, zone: zone, at: time))
    for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
      json.append(name, value.map { encoding.field($0, isEncrypted: false) } ?? .object([:]))
    }
    let record: JSONObject = [
      "recordName": .string(recordName), "recordType": .string(recordType), "fields": .object(json),
    ]
    try edit("forceUpdate", record, in: database, zone: zone, user: user, at: time)
    guard let saved = self.record(recordName, in: database, zone: zone) else {
      throw EmulatorError(ServerError(.internalError, "Another edit deleted the record immediately"))
    }
    return saved
  }

  /// Deletes a record (`forceDelete`). Succeeds if it does not exist.
  ///
  /// - Throws: `EmulatorError`, e.g. `VALIDATING_REFERENCE_ERROR`.
  public func delete(
    recordName: String,
    in database: EmulatorDatabase,
    zone: String = "_defaultZone",
    user: String? = nil,
    at time: Date
  ) throws(EmulatorError) {
    try edit("forceDelete", ["recordName": .string(recordName)], in: database, zone: zone, user: user, at: time)
  }

  /// Creates a custom zone in a private database. Succeeds if it exists.
  ///
  /// - Throws: `EmulatorError`, e.g. for a public database.
  public func createZone(_ name: String, in database: EmulatorDatabase, at time: Date) throws(EmulatorError) {
    try modifyZone("create", name, in: database, at: time)
  }

  /// Deletes a custom zone with its records.
  ///
  /// - Throws: `EmulatorError`, e.g. `ZONE_NOT_FOUND`.
  public func deleteZone(_ name: String, in database: EmulatorDatabase, at time: Date) throws(EmulatorError) {
    try modifyZone("delete", name, in: database, at: time)
  }

  /// Returns a record, or `nil` if it does not exist or the data file cannot be read.
  public func record(_ name: String, in database: EmulatorDatabase, zone: String = "_defaultZone") -> EmulatorRecord? {
    look { $0.databases[database.key]?.zones[zone]?.records[name].map(EmulatorRecord.init) }.found
  }

  /// Returns all records of a zone, sorted by name. Records that the data file cannot return are missing.
  public func records(in database: EmulatorDatabase, zone: String = "_defaultZone") -> [EmulatorRecord] {
    look { world in
      guard let records = world.databases[database.key]?.zones[zone]?.records else { return [] }
      return records.names(deleted: false).compactMap { records[$0].map(EmulatorRecord.init) }
    }
    .found
  }

  /// Returns an encoding of assets that includes an upload receipt.
  private func receipts(
    in database: EmulatorDatabase,
    zone: String,
    at time: Date
  ) -> (EmulatorAsset) -> JSONObject {
    let (seal, identity) = core.withLock {
      ($0.world.seal, $0.world.databases[database.key]?.zones[zone]?.identity ?? 0)
    }
    let expires = Timestamps.milliseconds(time) + AssetReceipt.lifetime
    return { AssetReceipt(asset: $0, zone: identity, expires: expires).json(seal) }
  }

  private func edit(
    _ type: String,
    _ record: JSONObject,
    in database: EmulatorDatabase,
    zone: String,
    user: String?,
    at time: Date
  ) throws(EmulatorError) {
    let body: JSONObject = [
      "zoneID": .object(["zoneName": .string(zone)]),
      "operations": .array([.object(["operationType": .string(type), "record": .object(record)])]),
    ]
    try perform(.recordsModify, body, in: database, user: user, at: time, results: "records")
  }

  private func modifyZone(
    _ type: String,
    _ name: String,
    in database: EmulatorDatabase,
    at time: Date
  ) throws(EmulatorError) {
    let zone: JSONObject = ["zoneID": .object(["zoneName": .string(name)])]
    let body: JSONObject = [
      "operations": .array([.object(["operationType": .string(type), "zone": .object(zone)])])
    ]
    try perform(.zonesModify, body, in: database, user: nil, at: time, results: "zones")
  }

  private func perform(
    _ operation: Route.Operation,
    _ body: JSONObject,
    in database: EmulatorDatabase,
    user: String?,
    at time: Date,
    results: String
  ) throws(EmulatorError) {
    try Self.check(database.container, database.environment)
    let route = Route(database, operation)
    let name = user ?? database.user
    let caller: Caller = name.map { .user(name: $0, nextToken: "") } ?? .world
    try edit { core throws(ServerError) in
      let answer = try core.execute(Call(route: route, caller: caller, body: body, time: time))
      guard let item = answer[results]?.array?.first?.object, let text = item["serverErrorCode"]?.string,
        let code = ServerError.Code(rawValue: text)
      else { return }
      throw ServerError(code, item["reason"]?.string ?? "")
    }
  }

  /// Runs an edit with the core.
  func edit<Value: Sendable>(
    _ body: (EmulatorCore) throws(ServerError) -> Value
  ) throws(EmulatorError) -> Value {
    do throws(ServerError) {
      return try withCore(body)
    } catch {
      throw EmulatorError(error)
    }
  }
}

extension EmulatorRecord {
  init(_ record: StoredRecord) {
    recordName = record.name
    recordType = record.type
    changeTag = record.tag
    fields = Dictionary(record.content.fields.map { ($0.name, $0.value) }) { first, _ in first }
    modified = record.modified.milliseconds
    modifiedBy = record.modified.userRecordName
  }
}

extension Route {
  init(_ database: EmulatorDatabase, _ operation: Operation) {
    container = database.container
    environment = database.environment
    scope = database.user == nil ? .public : .private
    self.operation = operation
  }
}
