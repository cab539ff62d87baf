import CloudKit
import Foundation
import JSONText

/// Rules of dictionaries and of field values.
extension ContractCheck {
  static let fieldRules: [ContractCheck] = [
    .rule("2.2", .documented, .zone, "A custom zone has a sync token and atomic batches.") { scratch in
      let reply = try await scratch.post("zones/lookup", #"{"zones":[{"zoneName":"\#(scratch.zoneName)"}]}"#)
      guard let zone = reply.items.first, zone.code == nil else { return .otherwise(reply.description) }
      var findings = Findings()
      findings.expect(zone["syncToken"]?.string != nil, "syncToken")
      findings.expect(zone["atomic"]?.bool == true, "atomic")
      return findings.outcome()
    },
    .rule("2.4", .documented, .records, "A saved record comes with its type, change tag and times.") { scratch in
      let reply = try await scratch.modify(.save("keys"))
      guard let record = reply.items.first, record.code == nil else { return .otherwise(reply.description) }
      var findings = Findings()
      findings.expect(record["recordName"]?.string == "keys", "recordName")
      findings.expect(record["recordType"]?.string == ContractScratch.recordType, "recordType")
      findings.expect(record["recordChangeTag"]?.string != nil, "recordChangeTag")
      for key in ["created", "modified"] { findings.expect(record[key]?.object?["timestamp"] != nil, key) }
      return findings.outcome()
    },
    .rule("2.4", .observed, .records, "Every write changes the change tag.") { scratch in
      let first = try await scratch.savedTag("tag")
      return .of(try await scratch.savedTag("tag") != first, came: "the same change tag")
    },
    .rule("3.1", .documented, .records, "A value of each type comes back as it was saved.") {
      try await $0.fieldsComeBack()
    },
    .rule("3.1", .documented, .records, "A value without a type is read by its JSON.") { scratch in
      _ = try await scratch.savedTag("bare", #""text":{"value":"a"},"rank":{"value":-1},"texts":{"value":["a"]}"#)
      let record = try await scratch.lookup("bare").items.first ?? [:]
      var findings = Findings()
      for (field, type) in [("text", "STRING"), ("rank", "INT64"), ("texts", "STRING_LIST")] {
        findings.expect(record["fields"]?.object?[field]?.object?["type"]?.string == type, field)
      }
      return findings.outcome()
    },
    .rule("3.1", .documented, .records, "With numbersAsStrings, numbers come as strings.") { scratch in
      let record = try await scratch.lookup("kept", more: #","numbersAsStrings":true"#).items.first
      return .of(record?.value("rank") == .string("0"), came: "no string")
    },
    .rule("3.1", .observed, .records, "A value of another type than the field's has BAD_REQUEST.") {
      try await $0.modify(.save("type", #""rank":{"value":"one","type":"STRING"}"#)).judged("BAD_REQUEST")
    },
    .rule("3.3", .documented, .records, "Deleting a record deletes those that refer to it with DELETE_SELF.") {
      try await $0.cascade("delete")
      return try await $0.lookup("delete-referrer").judged("NOT_FOUND")
    },
    .rule(
      "3.3",
      .documented,
      .records,
      "A VALIDATE reference to a missing record has VALIDATING_REFERENCE_ERROR."
    ) {
      let reference = #""link":{"value":{"recordName":"gone","action":"VALIDATE"},"type":"REFERENCE"}"#
      return try await $0.modify(.save("validate", reference)).judged("VALIDATING_REFERENCE_ERROR")
    },
    .rule("3.5", .observed, .records, "Encrypted values come back marked as such, and no filter may name them.") {
      try await $0.encryptedValuesComeBack()
    },
  ]
}

extension ContractScratch {
  fileprivate func fieldsComeBack() async throws -> ContractOutcome {
    let record = record("fields")
    record["text"] = "Åse said \"hi\"\n\u{1F600}"
    record["whole"] = Int64.max
    record["negative"] = -(1 << 53) - 1
    record["fraction"] = 0.1
    record["integral"] = 3.0
    record["flag"] = true
    record["when"] = Date(timeIntervalSince1970: -1_000_000.125)
    record["bytes"] = Data([0, 255, 10])
    record["place"] = CLLocation(
      coordinate: CLLocationCoordinate2D(latitude: 59.9, longitude: 10.7),
      altitude: 12,
      horizontalAccuracy: 5,
      verticalAccuracy: 5,
      timestamp: Date(timeIntervalSince1970: 1)
    )
    record["other"] = CKRecord.Reference(record: self.record("kept"), action: .none)
    record["texts"] = ["a", "b"]
    record["numbers"] = [1, 2, 3]
    try await database.save(record)

    let read = try await database.record(for: record.recordID)

    var findings = Findings()
    findings.expect(read["text"] as? String == "Åse said \"hi\"\n\u{1F600}", "STRING")
    findings.expect(read["whole"] as? Int64 == .max, "INT64")
    findings.expect(read["negative"] as? Int == -(1 << 53) - 1, "INT64 below -2^53")
    findings.expect(read["fraction"] as? Double == 0.1, "DOUBLE")
    findings.expect(read["integral"] as? Double == 3, "DOUBLE without a fraction")
    findings.expect(read["flag"] as? Bool == true, "INT64 of a boolean")
    findings.expect(read["when"] as? Date == Date(timeIntervalSince1970: -1_000_000.125), "TIMESTAMP")
    findings.expect(read["bytes"] as? Data == Data([0, 255, 10]), "BYTES")
    findings.expect((read["place"] as? CLLocation)?.coordinate.latitude == 59.9, "LOCATION")
    findings.expect((read["other"] as? CKRecord.Reference)?.recordID.recordName == "kept", "REFERENCE")
    findings.expect(read["texts"] as? [String] == ["a", "b"], "STRING_LIST")
    findings.expect(read["numbers"] as? [Int] == [1, 2, 3], "INT64_LIST")
    findings.expect(read.recordChangeTag == record.recordChangeTag, "change tag")
    findings.expect(read.creationDate != nil, "creation date")
    return findings.outcome()
  }

  fileprivate func encryptedValuesComeBack() async throws -> ContractOutcome {
    let record = record("encrypted")
    record["text"] = "open"
    record.encryptedValues["diary"] = "Åse"
    record.encryptedValues["pin"] = 1234
    record.encryptedValues["days"] = ["mon", "tue"]
    try await database.save(record)
    let read = try await database.record(for: record.recordID)
    read.encryptedValues["pin"] = nil
    let saved = try await database.save(read)
    let again = try await database.record(for: record.recordID)
    let filtered = try await query(filters: [.filter("diary", "EQUALS", #""Åse""#, "STRING")])

    var findings = Findings()
    findings.expect(read.encryptedValues["diary"] as? String == "Åse" && read["diary"] == nil, "a value")
    findings.expect(again.encryptedValues.allKeys() == ["days", "diary"], "a removed value")
    findings.expect(again.allKeys() == ["text"], "a plain value")
    findings.expect(again.encryptedValues["days"] as? [String] == ["mon", "tue"], "a list")
    findings.expect(saved.recordChangeTag == again.recordChangeTag, "the change tag")
    findings.expect(filtered.outcome == "HTTP 400 BAD_REQUEST", "a filter: \(filtered.description)")
    return findings.outcome()
  }
}
