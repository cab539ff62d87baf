public import CloudKit
public import CloudKitModels
public import CloudService
internal import CloudSync

/// Queries of the service's local copy, as those of a `SyncStore`. A zone that others share is searched in the local copy
/// of the shared records. A service without a store finds nothing.
///
/// `CloudKitService.query(_:inZoneWith:desiredKeys:)` asks the server instead.
extension CloudKitService {
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
