extension CKSyncEngine.State {
  /// The state of an engine in a form to save, with any encoder.
  ///
  /// It contains no records, only their names. Apple's own serializations cannot be read.
  public struct Serialization: Codable, Sendable {
    struct Zone: Codable {
      var name: String
      var owner: String
      var token: String?
    }

    struct Record: Codable {
      var name: String
      /// The position of its zone in `zones`.
      var zone: Int
      var isDelete: Bool?
    }

    struct ZoneChange: Codable {
      var zone: Int
      var isDelete: Bool?
    }

    var user: String?
    var databaseToken: String?
    /// The zones that the state mentions.
    var zones: [Zone] = []
    var unfetched: [Int] = []
    var recordChanges: [Record] = []
    var databaseChanges: [ZoneChange] = []
    var hasUntracked: Bool
  }
}

extension CKSyncEngine.State.Serialization {
  init(_ state: EngineState) {
    user = state.user?.recordName
    databaseToken = state.databaseToken?.wire
    hasUntracked = state.hasUntracked
    var places: [CKRecordZone.ID: Int] = [:]
    var zones: [Zone] = []
    func place(_ zoneID: CKRecordZone.ID) -> Int {
      if let place = places[zoneID] { return place }
      zones.append(Zone(name: zoneID.zoneName, owner: zoneID.ownerName, token: state.zones[zoneID]?.wire))
      places[zoneID] = zones.count - 1
      return zones.count - 1
    }
    unfetched = state.unfetched.map(place)
    recordChanges = state.recordChanges.changes.map { change in
      let isDelete: Bool? = if case .deleteRecord = change { true } else { nil }
      return Record(name: change.id.recordName, zone: place(change.id.zoneID), isDelete: isDelete)
    }
    databaseChanges = state.databaseChanges.changes.map { change in
      ZoneChange(zone: place(change.id), isDelete: change.isSave ? nil : true)
    }
    for zoneID in state.zones.keys { _ = place(zoneID) }
    self.zones = zones
  }
}

extension EngineState {
  /// Restores a state. Entries whose zone is missing, as in a damaged serialization, are ignored.
  init(_ serialization: CKSyncEngine.State.Serialization) {
    let zoneIDs = serialization.zones.map { CKRecordZone.ID(zoneName: $0.name, ownerName: $0.owner) }
    func zoneID(_ place: Int) -> CKRecordZone.ID? { zoneIDs.indices.contains(place) ? zoneIDs[place] : nil }
    user = serialization.user.map { CKRecord.ID(recordName: $0) }
    databaseToken = serialization.databaseToken.map { CKServerChangeToken(wire: $0) }
    for (zoneID, zone) in zip(zoneIDs, serialization.zones) {
      zones[zoneID] = zone.token.map { CKServerChangeToken(wire: $0) }
    }
    unfetched = serialization.unfetched.compactMap(zoneID)
    recordChanges.add(
      serialization.recordChanges.compactMap { record in
        guard let zoneID = zoneID(record.zone) else { return nil }
        let id = CKRecord.ID(recordName: record.name, zoneID: zoneID)
        return record.isDelete == true ? .deleteRecord(id) : .saveRecord(id)
      }
    )
    databaseChanges.add(
      serialization.databaseChanges.compactMap { change in
        guard let zoneID = zoneID(change.zone) else { return nil }
        return change.isDelete == true ? .deleteZone(zoneID) : .saveZone(CKRecordZone(zoneID: zoneID))
      }
    )
    hasUntracked = serialization.hasUntracked
  }
}
