import CloudKitEmulator
import Foundation

/// Requests about records with ten fields, about 1 KB each as JSON spells them.
struct Sample {
  static let zone = #""zoneID":{"zoneName":"notes"}"#
  static let time = Date(timeIntervalSince1970: 1_767_322_800)

  static func request(_ operation: String, _ body: String) -> EmulatorRequest {
    EmulatorRequest(
      path: "/database/1/iCloud.org.example.notes/development/private/\(operation)",
      query: "ckAPIToken=any&ckWebAuthToken=ana",
      headers: [EmulatorHeader("content-type", "application/json")],
      body: Data(body.utf8)
    )
  }

  static let createZone = request(
    "zones/modify",
    #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"notes"}}}]}"#
  )

  static func name(_ index: Int) -> String {
    let digits = String(index)
    return "8C1F0E2D-4B6A-4C51-9D3E-" + String(repeating: "0", count: 12 - digits.count) + digits
  }

  /// A `records/modify` of some records.
  static func create(_ range: Range<Int>) -> EmulatorRequest {
    request(
      "records/modify",
      #"{\#(zone),"atomic":true,"operations":[\#(range.map(operation).joined(separator: ","))]}"#
    )
  }

  static func lookUp(_ index: Int) -> EmulatorRequest {
    request("records/lookup", #"{\#(zone),"records":[{"recordName":"\#(name(index))"}]}"#)
  }

  /// The records of one shelf: a thousand of a million.
  static func query(shelf: Int) -> EmulatorRequest {
    request(
      "records/query",
      """
      {\(zone),"query":{"recordType":"Note","filterBy":[{"comparator":"EQUALS","fieldName":"shelf",\
      "fieldValue":{"value":\(shelf),"type":"INT64"}}]}}
      """
    )
  }

  private static func operation(_ index: Int) -> String {
    """
    {"operationType":"create","record":{"recordName":"\(name(index))","recordType":"Note","fields":{\
    "title":{"value":"Groceries for week \(index)","type":"STRING"},\
    "body":{"value":"\(text(index))","type":"STRING"},\
    "kind":{"value":"note","type":"STRING"},\
    "shelf":{"value":\(index % 1000),"type":"INT64"},\
    "serial":{"value":\(9_007_199_254_740_993 - index),"type":"INT64"},\
    "price":{"value":\(19.99 + Double(index % 512)),"type":"DOUBLE"},\
    "due":{"value":\(1_767_322_800_000 + index * 1000),"type":"TIMESTAMP"},\
    "digest":{"value":"DAJGlqyzqDh8w6Nk2O1xY0mVbZcRfTgLpQsUwXyZ012=","type":"BYTES"},\
    "list":{"value":{"recordName":"list-\(index % 10)","action":"NONE"},"type":"REFERENCE"},\
    "tags":{"value":["home","weekly","shelf \(index)"],"type":"STRING_LIST"}}}}
    """
  }

  /// So much text that a record's fields come to 1 KB.
  private static func text(_ index: Int) -> String {
    String(repeating: "Milk, crème fraîche and good bread, and whatever else is on the list. ", count: 10) + "\(index)"
  }
}
