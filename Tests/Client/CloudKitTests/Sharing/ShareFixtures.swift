import CloudKit
import Foundation

/// Answers about a list `list-1` in the zone `notes` and its share, as the protocol reference has them.
enum ShareFixtures {
  static let zone = CKRecordZone.ID(zoneName: "notes")

  static func root(tag: String, share: String? = nil, title: String = "Groceries") -> String {
    let share = share.map { #","share":{"recordName":"\#($0)"},"shortGUID":"0AbC""# } ?? ""
    return """
      {"recordName":"list-1","recordType":"List","recordChangeTag":"\(tag)","deleted":false,
       "fields":{"title":{"value":"\(title)","type":"STRING"}}\(share)}
      """
  }

  static let owner = """
    {"type":"OWNER","permission":"READ_WRITE","acceptanceStatus":"ACCEPTED","participantId":"P1",
     "userIdentity":{"userRecordName":"_0f","lookupInfo":{"emailAddress":"me@example.org"},
     "nameComponents":{"givenName":"Max","familyName":"Lee"}}}
    """

  static let guest = """
    {"type":"USER","permission":"READ_WRITE","acceptanceStatus":"INVITED","participantId":"P2",
     "userIdentity":{"lookupInfo":{"emailAddress":"ana@example.org"}}}
    """

  static func share(_ name: String = "share-1", tag: String = "1", others: [String] = []) -> String {
    """
    {"recordName":"\(name)","recordType":"cloudkit.share","recordChangeTag":"\(tag)","shortGUID":"0AbC",
     "fields":{"cloudkit.title":{"value":"Groceries","type":"STRING"}},"publicPermission":"NONE",
     "participants":[\(([owner] + others).joined(separator: ","))],"owner":\(owner),"currentUserParticipant":\(owner)}
    """
  }

  static func records(_ records: String...) -> ScriptedServer.Answer {
    .json("{\"records\":[\(records.joined(separator: ","))]}")
  }

  static func newRoot() -> CKRecord {
    let root = CKRecord(recordType: "List", recordID: CKRecord.ID(recordName: "list-1", zoneID: zone))
    root["title"] = "Groceries"
    return root
  }

  static func newShare(of root: CKRecord) -> CKShare {
    let share = CKShare(rootRecord: root, shareID: CKRecord.ID(recordName: "share-1", zoneID: zone))
    share[CKShare.SystemFieldKey.title] = "Groceries"
    return share
  }
}

extension ScriptedServer {
  /// One share, read from the server.
  static func fetchedShare(others: [String] = []) async throws -> CKShare? {
    let server = ScriptedServer(ShareFixtures.records(ShareFixtures.share(others: others)))
    let id = CKRecord.ID(recordName: "share-1", zoneID: ShareFixtures.zone)
    return try await server.container().privateCloudDatabase.record(for: id) as? CKShare
  }
}
