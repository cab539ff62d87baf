import CloudKit
import CloudKitEmulator
import Foundation
import Testing

/// Pushes from a save on one device to the loop of another, in process and over HTTP.
@Suite(.serialized) struct NotificationContractTests {
  @Test(.timeLimit(.minutes(15)), arguments: [ContractRoute.inProcess, .http])
  func `a save of another device is told to whoever waits for it`(route: ContractRoute) async throws {
    try await route.run { container in
      let database = container.privateCloudDatabase
      try await database.save(CKRecordZone(zoneName: "notes"))
      let subscription = CKDatabaseSubscription(subscriptionID: "all")
      let info = CKSubscription.NotificationInfo()
      info.shouldSendContentAvailable = true
      subscription.notificationInfo = info
      try await database.save(subscription)

      // Saves go on until one is told: what was saved before the loop had a token is told to nobody.
      let saving = Task {
        var number = 0
        while !Task.isCancelled {
          number += 1
          let id = CKRecord.ID(recordName: "n\(number)", zoneID: CKRecordZone.ID(zoneName: "notes"))
          _ = try await database.save(CKRecord(recordType: "Note", recordID: id))
          await Task.yield()
        }
      }
      defer { saving.cancel() }
      var iterator = container.notifications.makeAsyncIterator()
      let notification = try #require(try await iterator.next())

      #expect(notification is CKDatabaseNotification)
      #expect(notification.subscriptionID == "all")
      saving.cancel()
      _ = await saving.result
    }
  }
}
