import Foundation

/// Plain English for what the program knows: the one place where facts become sentences.
package enum Words {
  /// The version of `cktop`.
  package static let version = "0.1.0"

  /// A server's error code in words, with the code behind them.
  package static func error(_ code: String) -> String { plain(code).map { "\($0) (\(code))" } ?? code }

  /// A server's error code in words alone; nil where there are none for it.
  private static func plain(_ code: String) -> String? {
    switch code {
    case "NETWORK_ERROR": "the network failed"
    case "THROTTLED": "throttled by the server"
    case "TRY_AGAIN_LATER": "the server is busy"
    case "INTERNAL_ERROR": "the server failed"
    case "UNEXPECTED_SERVER_RESPONSE": "the reply cannot be understood"
    case "QUOTA_EXCEEDED": "the storage quota is full"
    case "AUTHENTICATION_FAILED", "AUTHENTICATION_REQUIRED": "signed out"
    case "ACCESS_DENIED": "access denied"
    case "CONFLICT", "EXISTS": "the server has another version"
    case "ATOMIC_ERROR": "its atomic group was rejected"
    case "VALIDATING_REFERENCE_ERROR": "a record that it refers to is missing"
    case "BAD_REQUEST": "the server rejected it"
    case "LIMIT_EXCEEDED": "too large"
    case "NOT_FOUND": "not found"
    case "ZONE_NOT_FOUND": "the zone does not exist"
    case "TOO_MANY_OPEN_FILES": "too many files are open"
    case "APP_SILENT": "the app did not answer"
    default: nil
    }
  }

  /// A server's error code in words without the code, where space is short.
  package static func brief(_ code: String) -> String { plain(code) ?? code }

  /// Whether a code says that the server has another version of the record.
  static func isConflict(_ code: String) -> Bool { code == "CONFLICT" || code == "EXISTS" }

  /// A server's message with its code behind it, or the code alone.
  package static func joined(_ message: String, _ code: String) -> String {
    message.isEmpty ? error(code) : "\(message.withoutFullStop) (\(code))"
  }

  /// The records that refer to one that is to be deleted; nil: they are not known.
  static func referring(_ referrers: Referrers?) -> String {
    let what = "to it by VALIDATE"
    guard let referrers else { return "other records refer \(what)" }
    switch (referrers.more, referrers.isWhole) {
    case (0, true): return "\(referrers.first) refers \(what)"
    case (0, false): return "\(referrers.first) and perhaps others refer \(what)"
    case (let more, let isWhole):
      return "\(referrers.first) and \(isWhole ? "" : "at least ")\(more) more refer \(what)"
    }
  }

  /// The server denies access to a zone or to a record type, or sent a record with a value that does not fit its type.
  package static func unreadable(zone: String, type: String?, record: String? = nil, message: String) -> String {
    if let record {
      return "the server's version of record \(record) in zone \(zone) cannot be read: \(message.withoutFullStop)"
    }
    let what = type.map { "records of type \($0)" } ?? "zone \(zone)"
    return "the server denies access to \(what): \(joined(message, "ACCESS_DENIED"))"
  }

  /// A kind of credential in words, by its name in the JSON; nil: there is none.
  package static func credential(_ name: String?) -> String {
    switch name {
    case "serverToServer"?: "server-to-server key"
    case "webAuth"?: "web auth token"
    case "apiToken"?: "API token"
    case let name: name ?? "none"
    }
  }

  static func by(_ actor: String?) -> String { actor.map { " by \($0)" } ?? "" }

  /// The most names that a sentence or a row of a list gives.
  package static let named = 10

  /// The most characters of a reason or a server's message in a row of a list, and of what an error quotes.
  package static let listed = 200

  /// The first of the names, and how many more there are.
  package static func list(_ names: [String]) -> String {
    let shown = names.prefix(named).joined(separator: ", ")
    return names.count > named ? "\(shown) and \(names.count - named) more" : shown
  }

  /// A number with its noun: "1 change", "2 changes".
  package static func count(_ number: Int, _ noun: String, _ plural: String? = nil) -> String {
    number == 1 ? "1 \(noun)" : "\(Format.number(number)) \(plural ?? noun + "s")"
  }
}

extension Words {
  /// How long a discard, a resolution or an undo can be undone.
  package static let undoLimit = "until the record is edited again"

  /// A resolution for this side that overwrote nothing that can be restored, in place of the dropped fields.
  package static let resolvedForThisSide = "(resolved for this side)"

  /// What a retry does beside sending changes whose zones the server has deleted.
  package static func recreates(_ zones: some Collection<String>) -> String {
    "this creates \(zones.count == 1 ? "zone" : "zones") \(list(zones.sorted())) again on the server"
  }

  /// The records that the server deleted, or the zone with them.
  package static func deletions(of records: Int, in place: String, isWholeZone: Bool = false) -> String {
    let records = count(records, "record")
    return isWholeZone ? "the server deleted \(place) with \(records)" : "the server deleted \(records) in \(place)"
  }

  /// The commands that decide about the deletions on hold in a zone.
  ///
  /// - Parameter owner: the zone's owner; empty: this user.
  package static func waysOfDeciding(zone: String, owner: String = "") -> String {
    let owner = owner.isEmpty ? "" : " --owner \(owner.asArgument)"
    return ["restore", "accept"].map { "cktop zones \($0) \(zone.asArgument)\(owner)" }.joined(separator: " or ")
  }

  /// A number of changes with what they do: "1 change waits", "2 changes wait".
  package static func changes(_ count: Int, _ verb: String) -> String {
    let verb = count == 1 && !verb.hasSuffix("ed") ? verb + "s" : verb
    return "\(Words.count(count, "change")) \(verb)"
  }
}

extension String {
  /// The text with a capital letter at its start, as screens show it. The name of a host or a file keeps its own
  /// letters.
  package var sentence: String {
    let isName = prefix { $0 != " " }.dropLast().contains { $0 == "." || $0 == "/" }
    return isName ? self : prefix(1).uppercased() + dropFirst()
  }

  /// The text, or its beginning with `…` in place of the rest.
  ///
  /// - Parameter limit: the number of characters of the result, at least 1. A character can have any number of
  ///   combining marks, so the bytes are limited as well, to an average of 16.
  package func shortened(to limit: Int) -> String {
    var (index, count, kept) = (startIndex, 0, startIndex)
    while index < endIndex {
      let next = self.index(after: index)
      count += 1
      guard count <= limit, self[..<next].utf8.count <= 16 * limit else { return self[..<kept] + "…" }
      if count < limit { kept = next }
      index = next
    }
    return self
  }

  /// The text as an error quotes it: a value, a key, an argument or a path that may have any length.
  package var excerpt: String { shortened(to: Words.listed) }

  /// The text without a full stop at its end.
  package var withoutFullStop: String { hasSuffix(".") ? String(dropLast()) : self }

  /// The text as one word of a shell, in a command that is suggested.
  package var asArgument: String {
    let isPlain = unicodeScalars.allSatisfy { scalar in
      scalar.isASCII
        && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || "_-.".contains(Character(scalar)))
    }
    return isPlain && !isEmpty ? self : quoted("'\\''")
  }

  /// The text in single quotes.
  ///
  /// - Parameter quote: what stands for a quote within. Each scalar is looked at by itself, because a quote and a mark
  ///   that combines with it are one character.
  package func quoted(_ quote: String) -> String {
    "'\(unicodeScalars.map { $0 == "'" ? quote : String($0) }.joined())'"
  }
}
