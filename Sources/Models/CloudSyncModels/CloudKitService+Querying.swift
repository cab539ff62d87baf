public import CloudKit
public import CloudKitModels
public import CloudService
internal import CloudSync

/// Models of the service's local copy, as those of a `SyncStore`. A zone that others share is searched in the local
/// copy of the shared records. A service without a store finds nothing.
///
/// `CloudKitService.query(_:inZoneWith:desiredKeys:)` asks the server instead.
extension CloudKitService {
  /// Returns the model of the local copy with a record name, without a request; nil if there is none or its deletion is
  /// queued. `fetch(recordID:)` asks the server for a record that is not in the local copy.
  ///
  /// - Parameter zoneID: The zone; nil for the store's zone for changes without one.
  /// - Throws: The same errors as for a `SyncStore`.
  public func load<Model: CKRecordModel & Decodable>(
    _ type: Model.Type = Model.self,
    named recordName: String,
    in zoneID: CKRecordZone.ID? = nil,
    following depth: LinkDepth = .none
  ) async throws -> Model? {
    try await load(type, named: [recordName], in: zoneID, following: depth)[recordName]?.get()
  }

  /// Returns the models of the local copy with these record names that there are, each with its own result, without a
  /// request.
  ///
  /// - Throws: The same errors as for a `SyncStore`.
  public func load<Model: CKRecordModel & Decodable>(
    _ type: Model.Type = Model.self,
    named recordNames: [String],
    in zoneID: CKRecordZone.ID? = nil,
    following depth: LinkDepth = .none
  ) async throws -> [String: Result<Model, any Error>] {
    let (store, zoneID) = try localCopy(of: zoneID)
    return try await store?.load(type, named: recordNames, in: zoneID, following: depth) ?? [:]
  }

  /// Returns the models of the local copy that match a query, up to its limit, without a request.
  ///
  /// - Throws: The same errors as for a `SyncStore`.
  public func load<Model: CKRecordModel & Decodable>(
    _ query: Query<Model>,
    in zoneID: CKRecordZone.ID? = nil,
    following depth: LinkDepth = .none
  ) async throws -> [Model] {
    let (store, zoneID) = try localCopy(of: zoneID)
    return try await store?.load(query, in: zoneID, following: depth) ?? []
  }

  /// Returns the first model of the local copy that matches a query, in its order; nil if there is none.
  public func first<Model: CKRecordModel & Decodable>(
    _ query: Query<Model>,
    in zoneID: CKRecordZone.ID? = nil,
    following depth: LinkDepth = .none
  ) async throws -> Model? {
    let (store, zoneID) = try localCopy(of: zoneID)
    return try await store?.first(query, in: zoneID, following: depth)
  }

  /// Returns the number of records of the local copy that match a query, at most its limit.
  public func count<Model: CKRecordModel>(_ query: Query<Model>, in zoneID: CKRecordZone.ID? = nil) async throws -> Int
  {
    let (store, zoneID) = try localCopy(of: zoneID)
    return try await store?.count(query, in: zoneID) ?? 0
  }

  /// Returns whether a record of the local copy matches a query.
  public func exists<Model: CKRecordModel>(_ query: Query<Model>, in zoneID: CKRecordZone.ID? = nil) async throws
    -> Bool
  {
    let (store, zoneID) = try localCopy(of: zoneID)
    return try await store?.exists(query, in: zoneID) ?? false
  }
}
