public import CloudKit
public import CloudKitModels
public import CloudSync

extension SyncStore {
  /// Returns the models of the local copy that match a query.
  public func load<Model: CKRecordModel & Decodable>(
    _ query: Query<Model>,
    in zoneID: CKRecordZone.ID? = nil
  ) async throws -> [Model] {
    let zone = zoneKey(zoneID)
    let predicate = try query.query(in: zone.zoneID).predicate
    return try await all(in: zone, type: Model.recordType) { $0 }.filter { predicate.evaluate(with: $0) }
      .map { try CKRecordDecoder().decode(Model.self, from: $0) }
  }
}
