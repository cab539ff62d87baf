import CloudKitEmulator
import Foundation
import TestSupport
import Testing

/// The store in memory and the store in a file answer alike, byte for byte, whatever is asked of them.
@Suite(.serialized) struct StoreTests {
  private static let types = ["Note", "Task"]

  /// A request at random about few records, so that they meet.
  private static func request(_ random: inout SplitMix64) -> (operation: String, body: String) {
    let zone = #""zoneID":{"zoneName":"\#(random.next() % 4 == 0 ? "_defaultZone" : "notes")"}"#
    let name = { (random: inout SplitMix64) in "r\(random.next() % 24)" }
    switch random.next() % 10 {
    case 0..<4:
      let operations = (0..<1 + random.next() % 6).map { _ in operation(name(&random), &random) }
      return (
        "records/modify",
        #"{\#(zone),"atomic":\#(random.next() % 2 == 0),"operations":[\#(operations.joined(separator: ","))]}"#
      )
    case 4, 5:
      let comparators = ["EQUALS", "LESS_THAN", "GREATER_THAN_OR_EQUALS", "NOT_EQUALS"]
      let filters = (0..<random.next() % 3).map { _ in
        #"{"comparator":"\#(comparators[Int(random.next() % 4)])","fieldName":"\#(random.next() % 2 == 0 ? "n" : "s")","#
          + #""fieldValue":{"value":\#(random.next() % 8)}}"#
      }
      let sorts = [
        "", #"{"fieldName":"n","ascending":false}"#, #"{"fieldName":"s"}"#, #"{"fieldName":"d"},{"fieldName":"n"}"#,
      ]
      let query =
        #"{"recordType":"\#(types[Int(random.next() % 2)])","filterBy":[\#(filters.joined(separator: ","))],"#
        + #""sortBy":[\#(sorts[Int(random.next() % 4)])]}"#
      return ("records/query", #"{\#(zone),"resultsLimit":\#(1 + random.next() % 9),"query":\#(query)}"#)
    case 6: return ("records/lookup", #"{\#(zone),"records":[{"recordName":"\#(name(&random))"}]}"#)
    case 7: return ("changes/zone", #"{"zones":[{\#(zone),"resultsLimit":\#(1 + random.next() % 9)}]}"#)
    case 8: return ("changes/zone", #"{"zones":[{\#(zone),"reverse":true}]}"#)
    default:
      let word = random.next() % 4 == 0 ? "delete" : "create"
      let operation = #"{"operationType":"\#(word)","zone":{"zoneID":{"zoneName":"notes"}}}"#
      return ("zones/modify", #"{"operations":[\#(operation)]}"#)
    }
  }

  private static func operation(_ name: String, _ random: inout SplitMix64) -> String {
    guard random.next() % 4 != 0 else { return Fixture.delete(name) }
    let type = types[Int(name.utf8.last ?? 0) % 2]
    var fields: [String] = []
    if random.next() % 4 != 0 { fields.append(#""n":{"value":\#(Int64(random.next() % 8) - 3)}"#) }
    if random.next() % 4 != 0 {
      fields.append(#""s":{"value":"\#(["", "a", "é", "ab", "😀"][Int(random.next() % 5)])"}"#)
    }
    if random.next() % 4 != 0 { fields.append(#""d":{"value":\#(Double(Int64(random.next() % 9) - 4) / 2 + 0.25)}"#) }
    if random.next() % 3 == 0 {
      let action = ["NONE", "DELETE_SELF", "VALIDATE"][Int(random.next() % 3)]
      fields.append(#""r":{"value":{"recordName":"r\#(random.next() % 24)","action":"\#(action)"}}"#)
    }
    let parent = random.next() % 4 == 0 ? #","parent":{"recordName":"r\#(random.next() % 24)"}"# : ""
    let record =
      #""recordName":"\#(name)","recordType":"\#(type)","fields":{\#(fields.joined(separator: ","))}\#(parent)"#
    return #"{"operationType":"forceUpdate","record":{\#(record)}}"#
  }

  @Test(arguments: 0..<12)
  func `memory and file answer alike, the file also after restarts`(seed: UInt64) async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      var random = SplitMix64(seed: seed)
      let memory = try Fixture()
      var file: Fixture? = try Fixture(path: path)
      for round in 0..<250 {
        if round % 50 == 49 {
          file = nil
          file = try Fixture(path: path)
          file?.pass(memory.now.timeIntervalSince(file?.now ?? memory.now))
        }
        let (operation, body) = Self.request(&random)

        let (one, other) = (memory.reply(operation, body).response, file?.reply(operation, body).response)

        #expect(
          other.map { String(decoding: $0.body, as: UTF8.self).withoutUUID }
            == one.map { String(decoding: $0.body, as: UTF8.self).withoutUUID },
          "seed \(seed), \(operation) \(body)"
        )
      }
      #expect(file?.emulator.dump() == memory.emulator.dump(), "seed \(seed)")
    }
  }
}

extension String {
  /// A refusal without the number of its request, which counts from the last start.
  fileprivate var withoutUUID: String {
    guard hasPrefix(#"{"uuid":""#) else { return self }
    return String(drop { $0 != "," })
  }
}
