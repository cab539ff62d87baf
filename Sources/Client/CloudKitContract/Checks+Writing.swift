import CloudKit
import JSONText

/// Assumptions about writing records and about the schema.
extension ContractCheck {
  static let writingAssumptions: [ContractCheck] = [
    .assumption(
      "atomicFailure",
      1,
      .records,
      "A failed atomic batch has HTTP 200, with ATOMIC_ERROR for the operations that did not fail."
    ) {
      try await $0.modify(.save("atomic"), .save("kept", "", "update", tag: "stale"), atomic: true)
        .judged("ATOMIC_ERROR, CONFLICT")
    },
    .assumption("updateWithoutTag", 4, .records, "An update or replace without a change tag has BAD_REQUEST.") {
      try await $0.modify(.save("updated", "", "update"), .save("replaced", "", "replace"))
        .judged("BAD_REQUEST, BAD_REQUEST")
    },
    .assumption("missingUpdate", 4, .records, "An update or replace of a missing record has NOT_FOUND.") {
      try await $0.modify(.save("gone-1", "", "update", tag: "1"), .save("gone-2", "", "replace", tag: "1"))
        .judged("NOT_FOUND, NOT_FOUND")
    },
    .assumption("deletionWithoutTag", 5, .records, "A delete without a change tag deletes the record.") {
      try await $0.modify(.delete("deleted", "delete")).judged("deleted")
    },
    .assumption("missingForceDelete", 6, .records, "A forceDelete of a missing record succeeds.") {
      try await $0.modify(.delete("gone")).judged("deleted")
    },
    .assumption("repeatedRecord", 7, .records, "Two operations on one record have HTTP 400 for the request.") {
      try await $0.modify(.save("twice"), .save("twice"), .save("beside")).judged("HTTP 400 BAD_REQUEST")
    },
    .assumption(
      "exceededLimit",
      8,
      .records,
      "More than 200 operations, and a record of more than 1 MB, have BAD_REQUEST."
    ) { scratch in
      let many = try await scratch.modify(operations: (0...200).map { .delete("gone-\($0)") })
      let text = String(repeating: "x", count: 1_000_001)
      let large = try await scratch.modify(.save("large", #""text":{"value":"\#(text)","type":"STRING"}"#))
      return .of(
        many.outcome == "HTTP 400 BAD_REQUEST" && large.outcome == "BAD_REQUEST",
        came: "\(many.description) for the operations, \(large.description) for the record"
      )
    },
    .assumption("encryptedType", 27, .records, "An encrypted TIMESTAMP or LOCATION has its plain type and isEncrypted.")
    {
      scratch in
      let place = #"{"latitude":59.9,"longitude":10.7}"#
      let saved = try await scratch.modify(
        .save(
          "encrypted-types",
          #""born":{"value":5,"type":"TIMESTAMP","isEncrypted":true},"#
            + #""home":{"value":\#(place),"type":"LOCATION","isEncrypted":true}"#
        )
      )
      guard saved.outcome == "ok" else { return .otherwise(saved.description) }
      let fields = try await scratch.lookup("encrypted-types").items.first?["fields"]?.object
      let types = ["born", "home"].map { fields?[$0]?.object?["type"]?.string ?? "no type" }
      let isMarked = ["born", "home"].allSatisfy { fields?[$0]?.object?["isEncrypted"]?.bool == true }
      return .of(
        types == ["TIMESTAMP", "LOCATION"] && isMarked,
        came: types.joined(separator: ", ") + (isMarked ? "" : ", without isEncrypted")
      )
    },
    .assumption("timestampFraction", 28, .records, "A TIMESTAMP with a fraction of a millisecond has BAD_REQUEST.") {
      scratch in
      let reply = try await scratch.modify(.save("fraction", #""when":{"value":1.5,"type":"TIMESTAMP"}"#))
      guard reply.outcome == "ok" else { return reply.judged("BAD_REQUEST") }
      let value = try await scratch.lookup("fraction").items.first?.value("when")
      return .otherwise("1.5 was saved as \(value?.text ?? "nothing")")
    },
    .assumption(
      "cascadesLeaveTombstones",
      24,
      .records,
      "The change feed has a tombstone of each record that DELETE_SELF deletes."
    ) { scratch in
      try await scratch.cascade("cascade")
      let gone = try await scratch.feed().filter { $0["deleted"]?.bool == true }
      let names = gone.compactMap { $0["recordName"]?.string }.filter { $0.hasPrefix("cascade-") }
      return .of(
        Set(names) == ["cascade-target", "cascade-referrer"],
        came: "tombstones: \(names.sorted().joined(separator: ", "))"
      )
    },
  ]

  static let schemaAssumptions: [ContractCheck] = [
    .assumption("unknownRecordType", 14, .zone, "A query for an unknown record type has NOT_FOUND.") { scratch in
      guard let reply = scratch.missingTypeReply else { return .notTried("the query failed") }
      return .of(reply.code == "NOT_FOUND", came: reply.description)
    },
    .assumption(
      "unknownField",
      14,
      .zone,
      "A write to a type or field that does not exist and cannot be added has BAD_REQUEST."
    ) { scratch in
      if let first = scratch.firstWrite, !scratch.typeExisted, first.outcomes.contains(where: { $0 != "ok" }) {
        return .of(Set(first.outcomes) == ["BAD_REQUEST"], came: first.description)
      }
      guard scratch.isProduction else { return .notTried("in development, writes add types and fields") }
      return try await scratch.modify(.save("unknown", #""cktopUnknown":{"value":1,"type":"INT64"}"#))
        .judged("BAD_REQUEST")
    },
    .assumption("developmentLearnsSchema", 15, .zone, "A write in development adds its record type.") { scratch in
      guard let first = scratch.firstWrite else { return .notTried("nothing was written") }
      if scratch.isProduction { return .notTried("the environment is production") }
      if scratch.typeExisted { return .notTried(ContractScratch.typeExistedReason) }
      return scratch.succeeds(first)
    },
    .assumption(
      "learntTypesIndexSystemFields",
      15,
      .records,
      "A record type that a write added has indexes on its system fields."
    ) { scratch in
      if scratch.typeExisted { return .notTried(ContractScratch.typeExistedReason) }
      return try await scratch.succeeds(scratch.query())
    },
    .assumption("emptyListsAddFields", 15, .records, "An empty list does not add a field: BAD_REQUEST.") { scratch in
      if scratch.isProduction { return .notTried("the environment is production") }
      return try await scratch.modify(.save("empty", #""alwaysEmpty":{"value":[]}"#)).judged("BAD_REQUEST")
    },
  ]
}

extension ContractScratch {
  fileprivate static let typeExistedReason = "the record type existed, from an earlier run or an imported schema"

  /// Deletes the target of a `DELETE_SELF` reference.
  func cascade(_ prefix: String) async throws {
    let reference = #""link":{"value":{"recordName":"\#(prefix)-target","action":"DELETE_SELF"},"type":"REFERENCE"}"#
    _ = try await savedTag("\(prefix)-target")
    _ = try await savedTag("\(prefix)-referrer", reference)
    let deletion = try await modify(.delete("\(prefix)-target"))
    guard deletion.outcome == "deleted" else {
      throw ContractSkip(reason: "the target was not deleted: \(deletion.outcome)")
    }
  }
}
