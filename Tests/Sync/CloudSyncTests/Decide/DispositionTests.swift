import CloudSync
import Foundation
import TestSupport
import Testing

@testable import CloudKit

/// The response to every error in every phase, as one table that people can read.
struct DispositionTests {
  /// The word for each disposition in the table, and what it means.
  private static let words: [(disposition: Disposition, word: String, meaning: String)] = [
    (.acknowledge, "done", "The goal is reached already. What is to be deleted and missing is asked for once more."),
    (.wait(.network), "network", "Everything waits for the network. No attempt is counted."),
    (.wait(.account), "account", "Everything waits until the account problem is solved. No attempt is counted."),
    (.wait(.quota), "quota", "Saves wait until there is space; deletes continue. No attempt is counted."),
    (.wait(.throttle), "throttled", "The database waits, or the zone of a single item. No attempt is counted."),
    (.backOff, "back off", "The item is tried again later. The last attempt makes it a dead letter."),
    (.verify, "verify", "The effect is unknown: the record is re-fetched, then the change is merged."),
    (.compare, "merge", "The server has another version: it is re-fetched, then the change is merged."),
    (.vanished, "deleted", "The server deleted the record: an edit meets a delete."),
    (.zoneMissing, "no zone", "The zone does not exist: the server is asked once more, then its changes wait."),
    (.absent, "absent", "The server has no such record or record type."),
    (.sibling, "again", "Another member of the group failed: the group is sent again. No attempt is counted."),
    (.split, "less", "The next request is smaller."),
    (.isolate, "bisect", "Bisection finds the item that the server rejects."),
    (.outage, "outage", "The server failed: the database waits, and the next request is smaller."),
    (.unanswered, "no reply", "A gateway replied in place of the server, so nothing is known of the account."),
    (.denied, "denied", "The server denies access. A person has to act."),
    (.restart, "restart", "The server no longer accepts the change token: changes are fetched from the start."),
    (.misfit, "misfit", "A value does not fit its type: the local copy keeps the last version of the record."),
    (.hold, "hold", "Only this feed, zone or subscription backs off."),
    (.stop, "stop", "The sync stops, and the error is shown until a sync succeeds."),
    (.deadLetter, "failed", "A dead letter: kept until a person or the app decides."),
  ]

  private typealias Column = (title: String, phase: Phase)

  private static func sending(_ kind: OperationKind, isCreation: Bool = false, attempt: Int = 1, isWhole: Bool) -> Phase
  {
    .sending(kind, isCreation: isCreation, attempt: attempt, of: 8, isWhole: isWhole)
  }

  private static let tables: [(title: String, text: String, columns: [Column])] = [
    (
      "Sending", "The error of one operation in the reply.",
      [("create record", sending(.save, isCreation: true, isWhole: false))]
        + OperationKind.allCases.map { (title($0), sending($0, isWhole: false)) }
        + [("zone that changes need", .creatingZone(isWhole: false))]
    ),
    (
      "Sending, whole request", "The error of the request, or of an atomic group without a named member.",
      OperationKind.allCases.map { (title($0), sending($0, isWhole: true)) }
        + [("zone that changes need", .creatingZone(isWhole: true))]
    ),
    (
      "Verifying and fetching",
      "Verifying fetches records or a zone by name, to see what became of a write.",
      [
        ("verify request", .verifying(isWhole: true)), ("verify item", .verifying(isWhole: false)),
        ("feed request", .fetching), ("zone", .fetchingZone), ("record", .fetchingRecord), ("query", .polling),
      ]
    ),
    (
      "Files, subscriptions, account", "The last column also holds for an error that stopped a whole sync.",
      [
        ("upload address", .preparingUpload), ("upload", .uploading), ("subscription", .subscribing),
        ("account", .authenticating),
      ]
    ),
  ]

  private static func title(_ kind: OperationKind) -> String {
    switch kind {
    case .save: "save record"
    case .delete: "delete record"
    case .zoneSave: "create zone"
    case .zoneDelete: "delete zone"
    }
  }

  /// Every code, and the circumstances in which one means something else.
  private static let errors: [(title: String, error: WebServicesError)] = {
    let token = WebServicesError(.badRequest, "Unknown sync continuation type")
    let other = ServerErrorCode("SOMETHING_NEW")
    var errors = ServerErrorCode.allNamed.map { ("`\($0.name)`", WebServicesError($0, "")) }
    errors.append(("`BAD_REQUEST`, change token", token))
    for code in [ServerErrorCode.networkError, .tryAgainLater, other] {
      let title = code == other ? "any other code" : "`\(code.name)`"
      if code == other { errors.append((title, WebServicesError(code, ""))) }
      errors.append((title + ", not sent", WebServicesError(code, "", effect: .notSent)))
      errors.append((title + ", reply lost", WebServicesError(code, "", effect: .unknown)))
      errors.append((title + ", with a wait", WebServicesError(code, "", retryAfter: 5)))
    }
    return errors.sorted { $0.0 < $1.0 }
  }()

  private static func word(_ disposition: Disposition) -> String {
    words.first { $0.disposition == disposition }?.word ?? "?"
  }

  private static var text: String {
    var lines = [
      "# Errors", "", "The response of the engine to every error, in every phase.", "", "## Overview", "",
      "`Disposition(of:during:)` decides; no other place gives an error a meaning. A test writes this page from it.",
      "",
    ]
    lines += words.map { "- **\($0.word)**: \($0.meaning)" }
    for (title, text, columns) in tables {
      lines += ["", "### \(title)", "", text, ""]
      lines.append("| error | " + columns.map(\.title).joined(separator: " | ") + " |")
      lines.append("|---|" + columns.map { _ in "---|" }.joined())
      for (title, error) in errors {
        let cells = columns.map { word(Disposition(of: error, during: $0.phase)) }
        lines.append("| \(title) | " + cells.joined(separator: " | ") + " |")
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  @Test func `the response to every error in every phase is as it was reviewed`() throws {
    let text = Self.text

    #expect(try text == recorded("Sources/Handbook/Sync/Errors.md", text))
    #expect(!text.contains("?"))
  }

  @Test func `both engines send a record again after the same errors, but for three`() {
    let again: [Disposition] = [
      .wait(.network), .wait(.account), .wait(.quota), .wait(.throttle), .backOff, .verify, .sibling, .split,
    ]
    let different = (ServerErrorCode.allNamed + [.unknown("NEW")]).filter { code in
      let error = WebServicesError(code, "")
      let disposition = Disposition(of: error, during: Self.sending(.save, isWhole: false))
      return again.contains(disposition) != CKError(error, in: .writtenItem).keepsChangePending
    }

    // Apple's engine leaves these to the app. The queue waits for space, asks for the record referred to, or sends less.
    #expect(Set(different) == [.quotaExceeded, .validatingReferenceError, .limitExceeded])
  }

  @Test func `the last attempt turns every back-off into a dead letter and nothing else`() {
    for (title, error) in Self.errors {
      for kind in OperationKind.allCases {
        for isWhole in [false, true] {
          let dispositions = [1, 7, 8, 1000].map { attempt in
            Disposition(of: error, during: Self.sending(kind, attempt: attempt, isWhole: isWhole))
          }
          let last = dispositions[0] == .backOff ? .deadLetter : dispositions[0]

          #expect(dispositions == [dispositions[0], dispositions[0], last, last], "\(title), \(kind)")
        }
      }
    }
  }
}
