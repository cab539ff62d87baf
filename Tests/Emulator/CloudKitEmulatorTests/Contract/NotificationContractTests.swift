import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import Foundation
import Testing

/// Pushes from a save on one device to the loop of another, in process and over HTTP.
@Suite(.serialized) struct NotificationContractTests {
  @Test func `all that an alert can say arrives, also where unknown keys are refused`() async throws {
    var configuration = EmulatorConfiguration()
    configuration.rejectsUnknownKeys = true
    let container = CKContainer(
      identifier: "iCloud.test",
      credential: .webAuth(apiToken: "any", webAuthToken: "ana"),
      transport: EmulatorTransport(try Emulator(configuration: configuration))
    )
    let database = container.privateCloudDatabase
    let zone = try await database.save(CKRecordZone(zoneName: "notes")).zoneID
    let id = CKRecord.ID(recordName: "n", zoneID: zone)
    let note = CKRecord(recordType: "Note", recordID: id)
    note["name"] = "Tea"
    try await database.save(note)
    let info = CKSubscription.NotificationInfo()
    info.alertBody = "body"
    info.alertLocalizationKey = "B"
    info.alertLocalizationArgs = ["name"]
    info.alertActionLocalizationKey = "A"
    info.alertLaunchImage = "image"
    info.title = "title"
    info.titleLocalizationKey = "T"
    info.titleLocalizationArgs = ["name"]
    info.subtitle = "subtitle"
    info.subtitleLocalizationKey = "S"
    info.subtitleLocalizationArgs = ["name"]
    info.soundName = "ping"
    info.desiredKeys = ["name"]
    info.category = "c"
    info.collapseIDKey = "name"
    (info.shouldBadge, info.shouldSendContentAvailable, info.shouldSendMutableContent) = (true, true, true)
    let options: CKQuerySubscription.Options = [.firesOnRecordUpdate, .firesOnce]
    let subscription = CKQuerySubscription(
      recordType: "Note",
      predicate: NSPredicate(format: "name == %@", "Tea"),
      subscriptionID: "q",
      options: options
    )
    subscription.zoneID = zone
    subscription.notificationInfo = info
    // The second save updates.
    for _ in 0..<2 { try await database.save(subscription) }
    #expect(try await database.subscription(for: "q").notificationInfo == info)
    #expect(try await database.allSubscriptions().map(\.subscriptionID) == ["q"])

    var iterator = container.notifications.makeAsyncIterator()
    let saving = Task {
      // What is saved before the loop has a token is told to nobody; the subscription fires once.
      while !Task.isCancelled {
        _ = try await database.save(subscription)
        let record = try await database.record(for: id)
        record["n"] = (record["n"] as? Int ?? 0) + 1
        try await database.save(record)
      }
    }
    defer { saving.cancel() }
    let push = try #require(try await iterator.next())

    #expect([push.title, push.subtitle, push.alertBody] == ["title", "subtitle", "body"])
    #expect([push.titleLocalizationKey, push.subtitleLocalizationKey, push.alertLocalizationKey] == ["T", "S", "B"])
    for arguments in [push.titleLocalizationArgs, push.subtitleLocalizationArgs, push.alertLocalizationArgs] {
      #expect(arguments == ["Tea"])
    }
    #expect(push.soundName == "ping" && push.category == "c")
  }

  @Test(.timeLimit(.minutes(40)), arguments: [ContractRoute.inProcess, .http])
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
