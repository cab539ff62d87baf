import CloudKit
import Testing

// Switches that set constant properties, also for cases that Apple may add.

private final class DatabaseRow {
  let title: String
  let icon: String

  init(_ scope: CKDatabase.Scope, _ status: CKAccountStatus) {
    switch scope {
    case .public: title = "Public"
    case .private: title = "Private"
    case .shared: title = "Shared"
    @unknown default: title = "Unknown"
    }
    switch status {
    case .available: icon = "cloud"
    case .noAccount, .restricted: icon = "lock"
    case .couldNotDetermine, .temporarilyUnavailable: icon = "clock"
    @unknown default: icon = "questionmark"
    }
  }
}

private final class ParticipantRow {
  let role: String
  let access: String

  init(_ role: CKShare.ParticipantRole, _ permission: CKShare.ParticipantPermission) {
    switch role {
    case .owner: self.role = "Owner"
    case .administrator, .privateUser, .publicUser: self.role = "Guest"
    case .unknown: self.role = "?"
    @unknown default: self.role = "New"
    }
    switch permission {
    case .readOnly: access = "reads"
    case .readWrite: access = "writes"
    case .none, .unknown: access = "nothing"
    @unknown default: access = "?"
    }
  }
}

private final class ChangeRow {
  let title: String

  init(_ change: CKSyncEngine.PendingRecordZoneChange) {
    switch change {
    case .saveRecord(let id): title = "save \(id.recordName)"
    case .deleteRecord(let id): title = "delete \(id.recordName)"
    @unknown default: title = "?"
    }
  }
}

@Suite struct SwitchStyleTests {
  @Test func `a switch sets a constant property, with a default for cases that may come`() {
    let row = DatabaseRow(.shared, .noAccount)
    #expect(row.title == "Shared" && row.icon == "lock")
    let participant = ParticipantRow(.owner, .readWrite)
    #expect(participant.role == "Owner" && participant.access == "writes")
    #expect(ChangeRow(.deleteRecord(CKRecord.ID(recordName: "n"))).title == "delete n")
    #expect(CKDatabase.Scope(rawValue: -1) == nil)
  }

  @Test func `a switch without a default is complete`() {
    func name(_ action: CKRecord.ReferenceAction) -> String {
      switch action {
      case .none: "none"
      case .deleteSelf: "delete"
      }
    }
    #expect(name(.deleteSelf) == "delete")
  }
}
