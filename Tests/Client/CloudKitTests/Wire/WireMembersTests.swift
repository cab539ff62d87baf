import Foundation
import JSONText
import Testing

@testable import CloudKit

struct WireMembersTests {
  private func read<Value: JSONReadable>(_ text: String, as type: Value.Type = Value.self) throws -> Value {
    try Value(json: Data(text.utf8))
  }

  @Test func `what is written is read again`() throws {
    let text = #"""
      {"deleted":false,"firesOn":["create"],"firesOnce":true,"notificationInfo":{"alertBody":"b","shouldBadge":true},"query":{"filterBy":[{"comparator":"NEAR","distance":4,"fieldName":"f","fieldValue":{"type":"LOCATION","value":{"latitude":1.5,"longitude":2,"timestamp":5}}},{"comparator":"EQUALS","fieldValue":{"type":"STRING","value":"x"},"systemFieldName":"recordName"}],"recordType":"T"},"subscriptionID":"s","subscriptionType":"query","zoneID":{"ownerRecordName":"o","zoneName":"z"},"zoneWide":true}
      """#

    let subscription = try read(text, as: WireSubscription.self)

    #expect(String(decoding: try subscription.json(), as: UTF8.self) == text)
    #expect(subscription.query?.filterBy.map(\.name) == [.field("f"), .system("recordName")])
  }

  @Test(arguments: [
    "{}", #"{"recordName":null}"#, #"{"recordName":"a","recordName":null}"#, #"{"recordName":1}"#,
    #"{"recordName":"a","zoneID":{}}"#,
  ])
  func `an object without a required member is an error`(_ text: String) {
    #expect(throws: JSONError.self) { try read(text, as: WireReference.self) }
  }

  @Test func `a key may be written with escapes and repeated, and unknown keys are skipped`() throws {
    let reference: WireReference = try read(#"{"x":[{}],"record\u004eame":"a","action":"NONE","action":null}"#)

    #expect(reference == WireReference(recordName: "a", action: nil))
  }

  @Test func `an item with an error code is an error, whatever else it has and lacks`() throws {
    let results: WireResults<WireZone> = try read(
      #"{"zones":[{"zoneID":{"zoneName":"a"},"deleted":true},{"atomic":true,"serverErrorCode":"BAD_REQUEST"}]}"#
    )

    #expect(results.elements[0] == .deleted(WireZoneID(zoneName: "a")))
    #expect(results.elements[1] == .failure(nil, WebServicesError(.badRequest, "")))
  }
}
