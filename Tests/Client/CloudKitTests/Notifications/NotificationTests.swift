import CloudKit
import Foundation
import Testing

@Suite(.serialized) struct NotificationTests {
  private func dictionary(_ json: String) throws -> [AnyHashable: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [AnyHashable: Any])
  }

  @Test func `a query's push names the record, what happened to it, and the fields that were asked for`() throws {
    let push = try dictionary(
      #"""
      {"aps":{"alert":{"body":"New","loc-key":"N","loc-args":["x"]},"badge":3},
       "ck":{"cid":"iCloud.test","nid":"7a","ckuserid":"_1","p":1,
             "qry":{"sid":"s","rid":"note-1","zid":"notes","zoid":"_2","fo":3,"dbs":3,"af":{"title":"Milk","n":2}}}}
      """#
    )

    let notification = try #require(CKNotification(fromRemoteNotificationDictionary: push) as? CKQueryNotification)

    #expect(notification.notificationType == .query)
    #expect(notification.queryNotificationReason == .recordDeleted)
    #expect(
      notification.recordID
        == CKRecord.ID(recordName: "note-1", zoneID: CKRecordZone.ID(zoneName: "notes", ownerName: "_2"))
    )
    #expect(notification.databaseScope == .shared)
    #expect(notification.subscriptionID == "s")
    #expect(notification.containerIdentifier == "iCloud.test")
    #expect(notification.subscriptionOwnerUserRecordID?.recordName == "_1")
    #expect(notification.isPruned)
    #expect(notification.alertBody == "New")
    #expect(notification.alertLocalizationArgs == ["x"])
    #expect(notification.badge == 3)
    #expect(notification.recordFields?["title"] as? String == "Milk")
    #expect(!notification.description.contains("Milk"))
  }

  @Test func `pushes of zones and databases are told apart`() throws {
    let zone = try dictionary(
      #"{"aps":{"content-available":1},"ck":{"nid":"1","fet":{"zid":"notes","dbs":2,"sid":"z"}}}"#
    )
    let database = try dictionary(#"{"aps":{},"ck":{"met":{"dbs":3,"sid":"d"}}}"#)

    let ofZone = CKNotification(fromRemoteNotificationDictionary: zone) as? CKRecordZoneNotification
    let ofDatabase = CKDatabaseNotification(fromRemoteNotificationDictionary: database)

    #expect(ofZone?.recordZoneID == CKRecordZone.ID(zoneName: "notes"))
    #expect(ofDatabase?.databaseScope == .shared)
    #expect(CKQueryNotification(fromRemoteNotificationDictionary: zone) == nil)
  }

  @Test(arguments: [
    "{}", #"{"aps":{"alert":"Hi"}}"#, #"{"ck":{}}"#, #"{"ck":5}"#, #"{"ck":{"qry":[]}}"#, #"{"ck":{"qry":{"fo":"x"}}}"#,
  ])
  func `what is no push of CloudKit's reads as nothing`(json: String) throws {
    #expect(CKNotification(fromRemoteNotificationDictionary: try dictionary(json)) == nil)
  }
}
