import CloudKitEmulator
import Foundation
import Testing

/// What is made up is the same for the same requests, and still never made up twice.
@Suite(.serialized) struct SameAgainTests {
  @Test func `after a restart at an equal time, subscriptions and tokens without a name get other ones`() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      var (subscriptions, tokens): ([String?], [String]) = ([], [])
      for _ in 0..<3 {
        let fixture = try Fixture(path: path)
        subscriptions.append(try fixture.subscribe(#"{"subscriptionType":"database"}"#).subscriptionIDs.first)
        tokens.append(try fixture.courierURL())
      }

      #expect(Set(subscriptions).count == 3 && Set(tokens).count == 3)
      #expect(try Fixture(path: path).post("subscriptions/list").subscriptionIDs.count == 3)
      let other = try Fixture()
      #expect(try other.subscribe(#"{"subscriptionType":"database"}"#).subscriptionIDs.first == subscriptions[0])
      #expect(try other.courierURL() == tokens[0])
    }
  }

  @Test func `of many conflicts a deployment names the first`() throws {
    let emulator = try Emulator()
    let schema = { (type: String) in
      "DEFINE SCHEMA "
        + (10..<20).map { number in
          "RECORD TYPE T\(number) (" + (10..<20).map { "f\($0) \(type)" }.joined(separator: ", ") + ");"
        }
        .joined(separator: " ")
    }
    try emulator.importSchema(schema("INT64"), container: "iCloud.test")
    try emulator.importSchema(schema("STRING"), container: "iCloud.test", environment: "production")

    let error = #expect(throws: EmulatorError.self) { try emulator.deploySchema(of: "iCloud.test") }

    #expect(error?.reason == "Field 'f10' of 'T10' has another type in production")
  }

  @Test func `who leaves a share and asks for the zone's token is told of the leaving`() throws {
    let shared = try Shared().accepted()

    let left = try shared.modify(
      Fixture.delete("share-1"),
      query: "getCurrentSyncToken=true&" + Shared.berta
    )

    #expect(left.status == 200 && left.outcomes == ["deleted"] && left.object["syncToken"] == nil)
  }
}
