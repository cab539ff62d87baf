import CloudKitEmulator
import Foundation
import Testing

/// The examples of sections 5.4, 5.8, 5.9, 5.10 and 5.11.
@Suite(.serialized) struct ServiceReferenceTests {
  @Test func `5_3 and 5_4, the example of a share, resolved and accepted`() throws {
    let curl = try Curl()
    try curl.fixture.createZone("notes")
    let root =
      #"{"operationType":"create","record":{"recordName":"list-1","recordType":"List","createShortGUID":true,"fields":{"title":{"value":"Groceries"},"n":{"value":1}}}}"#
    let made = try curl.fixture.modify(root)
    let tag = try #require(made.tags[0])
    let guid = try #require(made.records[0]["shortGUID"] as? String)

    let share = try curl(
      "private/records/modify",
      #"{"zoneID":{"zoneName":"notes"},"atomic":true,"operations":[{"operationType":"create","record":{"recordType":"cloudkit.share","fields":{"cloudkit.title":{"value":"Groceries","type":"STRING"}},"forRecord":{"recordName":"list-1","recordChangeTag":"\#(tag)"},"publicPermission":"NONE","participants":[{"type":"USER","permission":"READ_WRITE","acceptanceStatus":"INVITED","userIdentity":{"lookupInfo":{"emailAddress":"ana@example.org"}}}]}}]}"#
    )
    let guest = "ckAPIToken=t&ckWebAuthToken=ana@example.org"
    let ask = { (operation: String, more: String) in
      try curl("public/records/\(operation)", #"{"shortGUIDs":[{"value":"\#(guid)"\#(more)}]}"#, query: guest)
    }
    let resolved = try ask("resolve", #","shouldFetchRootRecord":true,"rootRecordDesiredKeys":["title"]"#)
    let accepted = try ask("accept", "")

    let invited = #"{"type":"USER","permission":"READ_WRITE","acceptanceStatus":"INVITED"}"#
    #expect(
      share.lacks(
        #"{"records":[{"recordType":"cloudkit.share","shortGUID":"\#(guid)","publicPermission":"NONE","owner":{"type":"OWNER"},"currentUserParticipant":{"type":"OWNER"},"participants":["*",\#(invited)]}]}"#
      ) == []
    )
    let result =
      #"{"shortGUID":{"value":"\#(guid)","shouldFetchRootRecord":true},"containerIdentifier":"iCloud.test","environment":"DEVELOPMENT","databaseScope":"SHARED","zoneID":{"zoneName":"notes","ownerRecordName":"*"},"rootRecordName":"list-1","rootRecord":{"fields":{"title":"*","n":null}},"share":{"recordType":"cloudkit.share"},"ownerIdentity":{"userRecordName":"*"},"participantType":"USER","participantPermission":"READ_WRITE","participantStatus":"INVITED","potentialMatchList":null}"#
    #expect(resolved.lacks(#"{"results":[\#(result)]}"#) == [])
    #expect(accepted.lacks(#"{"results":[{"participantStatus":"ACCEPTED","rootRecord":null}]}"#) == [])
    let zones = try curl("shared/zones/list", query: guest)
    #expect(zones.lacks(#"{"zones":[{"zoneID":{"zoneName":"notes","ownerRecordName":"*"}}]}"#) == [])
  }

  @Test func `5_4, whoever was invited twice is told how`() throws {
    let shared = try Shared()
    _ = try shared.share("list", Shared.invitation(email: "Dora@x.org") + "," + Shared.invitation(email: "dora@x.org"))

    let result = try shared.ask("resolve", try shared.guid(), query: "ckAPIToken=t&ckWebAuthToken=dora@x.org")

    let matches = try #require(result["potentialMatchList"] as? [[String: Any]])
    #expect(
      matches.map { ($0["contactInformation"] as? [String: Any])?["emailAddress"] as? String }
        == ["Dora@x.org", "dora@x.org"]
    )
    #expect(Set(matches.compactMap { $0["participantId"] as? String }).count == 2)
  }

  @Test func `5_8, the example of a subscription`() throws {
    let curl = try Curl()
    try curl.fixture.createZone("notes")
    let subscription =
      #"{"subscriptionID":"notes-zone","subscriptionType":"zone","zoneID":{"zoneName":"notes"},"notificationInfo":{"shouldSendContentAvailable":true}}"#

    let made = try curl(
      "private/subscriptions/modify",
      #"{"operations":[{"operationType":"create","subscription":\#(subscription)}]}"#
    )
    let looked = try curl(
      "private/subscriptions/lookup",
      #"{"subscriptions":[{"subscriptionID":"notes-zone"},{"subscriptionID":"gone"}]}"#
    )
    let deleted = try curl(
      "private/subscriptions/modify",
      #"{"operations":[{"operationType":"delete","subscription":{"subscriptionID":"notes-zone"}}]}"#
    )

    #expect(made.lacks(#"{"subscriptions":[\#(subscription)]}"#) == [])
    let missing = #"{"subscriptionID":"gone","serverErrorCode":"NOT_FOUND","reason":"*"}"#
    #expect(looked.lacks(#"{"subscriptions":[\#(subscription),\#(missing)]}"#) == [])
    #expect(deleted.lacks(#"{"subscriptions":[{"subscriptionID":"notes-zone","deleted":true}]}"#) == [])
    #expect(try curl("private/subscriptions/list").lacks(#"{"subscriptions":[]}"#) == [])
  }

  @Test func `5_9, the three steps of an asset, and a reference for another record`() throws {
    let curl = try Curl()
    try curl.fixture.createZone("notes")

    let ticket = try curl(
      "private/assets/upload",
      #"{"zoneID":{"zoneName":"notes"},"tokens":[{"recordName":"note-1","recordType":"Note","fieldName":"photo"}]}"#
    )
    #expect(ticket.lacks(#"{"tokens":[{"recordName":"note-1","fieldName":"photo","url":"*"}]}"#) == [])
    let tokens = try #require(ticket.object["tokens"] as? [[String: Any]])
    let url = try #require(tokens[0]["url"] as? String)
    let body = Data("hello".utf8)
    let uploaded = Answer(try curl.fixture.open(url, method: "POST", body: body))
    let file = #"{"fileChecksum":"*","size":5,"receipt":"*","wrappingKey":"*","referenceChecksum":"*"}"#
    #expect(uploaded.lacks(#"{"singleFile":\#(file)}"#) == [])
    let single = try JSONSerialization.data(withJSONObject: uploaded.object["singleFile"] ?? [:])
    let value = String(decoding: single, as: UTF8.self)
    let saved = try curl.fixture.modify(Fixture.save("note-1", #""photo":{"type":"ASSETID","value":\#(value)}"#))
    let read = #"{"value":{"fileChecksum":"*","size":5,"downloadURL":"*","receipt":null},"type":"ASSETID"}"#
    #expect(saved.lacks(#"{"records":[{"fields":{"photo":\#(read)}}]}"#) == [])

    let again = try curl(
      "private/assets/rereference",
      #"{"zoneID":{"zoneName":"notes"},"assets":[{"recordName":"note-1","fieldName":"photo"}]}"#
    )
    let asset = #"{"recordName":"note-1","fieldName":"photo","fileChecksum":"*","size":5,"receipt":"*"}"#
    #expect(again.lacks(#"{"assets":[\#(asset)]}"#) == [])
  }

  @Test func `5_10, the example of a push token, on both paths`() throws {
    let curl = try Curl()

    for path in ["/device/1/iCloud.test/development/tokens/", "public/tokens/"] {
      let made = try curl(path + "create", #"{"apnsEnvironment":"development","clientId":"me"}"#)
      #expect(made.lacks(#"{"apnsEnvironment":"development","apnsToken":"*","webcourierURL":"*"}"#) == [])
      #expect(try curl(path + "create", #"{"apnsEnvironment":"moon"}"#).code == "BAD_REQUEST")
      #expect(try curl(path + "register", #"{"apnsEnvironment":"production","apnsToken":"c3f0"}"#).status == 200)
    }
  }

  @Test func `5_11 and 5_12, the examples of users`() throws {
    var configuration = EmulatorConfiguration()
    let name = ["givenName": "Ana", "familyName": "Ruiz"]
    configuration.directory = [
      EmulatorUser(name: "ana", emailAddress: "ana@example.org", nameComponents: name),
      EmulatorUser(name: "bob", emailAddress: "bob@example.org"),
    ]
    let curl = try Curl(configuration)
    let identity =
      #"{"userRecordName":"*","lookupInfo":{"emailAddress":"ana@example.org"},"nameComponents":{"givenName":"Ana","familyName":"Ruiz"}}"#
    let user = #"{"userRecordName":"*","firstName":"Ana","lastName":"Ruiz"}"#

    let discovered = try curl(
      "public/users/discover",
      #"{"lookupInfos":[{"emailAddress":"ana@example.org"},{"phoneNumber":"1"}]}"#
    )

    #expect(discovered.lacks(#"{"users":[\#(identity)]}"#) == [])
    #expect(try curl("public/users/caller").lacks(#"{"users":[\#(identity)]}"#) == [])
    #expect(try curl("public/users/current").lacks(user) == [])
    let found = try curl("public/users/lookup/email", #"{"users":[{"emailAddress":"ana@example.org"}]}"#)
    #expect(found.lacks(#"{"users":[\#(user)]}"#) == [])
    for body in ["{}", ""] {
      let contacts = try curl("public/users/lookup/contacts", body)
      #expect(contacts.lacks(#"{"users":[{"userRecordName":"*","emailAddress":"bob@example.org"}]}"#) == [])
    }
    #expect(try curl("public/users/discover").code == "INTERNAL_ERROR")
  }
}
