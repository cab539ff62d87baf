import CloudKit
import CloudSync
import Testing

/// The table of what every error means, cell by cell.
@Suite(.serialized) struct DispositionTests {
  /// One letter for each disposition, so that the table can be read.
  private static let letters: [(Disposition, Character)] = [
    (.acknowledge, "A"), (.wait(.network), "N"), (.wait(.account), "C"), (.wait(.quota), "Q"),
    (.wait(.throttle), "T"), (.backOff, "B"), (.readBack, "R"), (.vanished, "V"), (.zoneMissing, "Z"),
    (.sibling, "S"), (.split, "L"), (.isolate, "I"), (.outage, "O"), (.deadLetter, "D"),
  ]

  /// Save, delete, zone save, zone delete as an item's error; the same four as the whole request's.
  private static let refused: [String: String] = [
    "ACCESS_DENIED": "DDDD CCCC",
    "ATOMIC_ERROR": "SSSS BBBB",
    "AUTHENTICATION_FAILED": "CCCC CCCC",
    "AUTHENTICATION_REQUIRED": "CCCC CCCC",
    "BAD_REQUEST": "DDDD IIII",
    "CONFLICT": "RRAB RRAB",
    "EXISTS": "RRAB RRAB",
    "INTERNAL_ERROR": "BBBB OOOO",
    "LIMIT_EXCEEDED": "LLLL LLLL",
    "NETWORK_ERROR": "RRRR RRRR",
    "NOT_FOUND": "VADA CCCC",
    "QUOTA_EXCEEDED": "QQQQ QQQQ",
    "SOMETHING_NEW": "BBBB OOOO",
    "THROTTLED": "TTTT TTTT",
    "TRY_AGAIN_LATER": "BBBB TTTT",
    "UNEXPECTED_SERVER_RESPONSE": "RRRR RRRR",
    "UNIQUE_FIELD_ERROR": "DDDD IIII",
    "VALIDATING_REFERENCE_ERROR": "BBBB BBBB",
    "ZONE_NOT_FOUND": "ZAZA ZAZA",
  ]

  /// Where it matters what is known of the effect.
  private static let byEffect: [WebServicesError.Effect: [String: String]] = [
    .notSent: ["NETWORK_ERROR": "NNNN NNNN"],
    .unknown: ["TRY_AGAIN_LATER": "RRRR RRRR"],
  ]

  private func row(_ error: WebServicesError, attempt: Int = 1) -> String {
    [false, true].map { isRequestLevel in
      OperationKind.allCases.map { kind -> String in
        let disposition = Disposition(
          error,
          kind: kind,
          attempt: attempt,
          maxAttempts: 8,
          isRequestLevel: isRequestLevel
        )
        return Self.letters.first { $0.0 == disposition }.map { String($0.1) } ?? "?"
      }.joined()
    }.joined(separator: " ")
  }

  @Test func `the table has a row for every code there is`() {
    #expect(Set(Self.refused.keys) == Set(ServerErrorCode.allNamed.map(\.name) + ["SOMETHING_NEW"]))
    #expect(OperationKind.allCases == [.save, .delete, .zoneSave, .zoneDelete])
  }

  @Test(arguments: [WebServicesError.Effect.refused, .notSent, .unknown])
  func `every error means what the table says`(_ effect: WebServicesError.Effect) {
    for (name, expected) in Self.refused.sorted(by: { $0.key < $1.key }) {
      let error = WebServicesError(ServerErrorCode(name), "", effect: effect)

      #expect(row(error) == Self.byEffect[effect]?[name] ?? expected, "\(name), \(effect)")
    }
  }

  @Test func `the last attempt turns every back-off into a dead letter and nothing else`() {
    for (name, expected) in Self.refused {
      let error = WebServicesError(ServerErrorCode(name), "")

      #expect(row(error, attempt: 8) == expected.replacing("B", with: "D"), "\(name)")
      #expect(row(error, attempt: 7) == expected, "\(name)")
    }
  }

  @Test func `what is created cannot have vanished`() {
    let error = WebServicesError(.notFound, "")
    let disposition = { (isCreation: Bool, isRequestLevel: Bool) in
      Disposition(
        error,
        kind: .save,
        isCreation: isCreation,
        attempt: 1,
        maxAttempts: 8,
        isRequestLevel: isRequestLevel
      )
    }

    #expect(disposition(true, false) == .deadLetter)
    #expect(disposition(false, false) == .vanished)
    #expect(disposition(true, true) == .wait(.account))
  }

  @Test func `a server that says when to come back is waited for`() {
    let error = WebServicesError(.tryAgainLater, "", retryAfter: 5)

    #expect(row(error) == "TTTT TTTT")
  }

  @Test func `waiting never spends an attempt, however many there were`() {
    for code in [ServerErrorCode.throttled, .quotaExceeded, .authenticationFailed, .authenticationRequired] {
      let error = WebServicesError(code, "")

      #expect(row(error, attempt: 1000) == row(error))
    }
  }
}
