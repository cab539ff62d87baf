import Foundation

/// A web auth token of this server: the user's name, the number of renewals, and the time of expiry if there is one.
///
/// `ana` alone is a token, `ana~3` is its third renewal, and `ana~3~1767322800000` expires at that millisecond. Under
/// `strictAuth` a signature follows after a full stop, and tokens without it are rejected. Real tokens are opaque. [L3]
/// As at the real service [L3], old tokens stay valid, unless `strictWebAuth` is set.
struct WebAuthToken: Sendable, Hashable {
  /// The lifetime of a token with "Keep me signed in" at the real service. [D]
  static let keptLifetime: Duration = .seconds(14 * 24 * 60 * 60)

  var name: String
  var renewals: UInt64
  /// The time of expiry in milliseconds since 1970; `nil` if the token does not expire.
  var end: Int64?
  /// Whether renewals have the lifetime of "Keep me signed in".
  var isKept = false

  init?(_ text: String) {
    var parts = text.split(separator: "~", omittingEmptySubsequences: false)
    renewals = 0
    if parts.count > 2, UInt64(parts[parts.count - 2]) != nil, let end = parts.last.flatMap(Self.end) {
      (self.end, isKept) = (end.time, end.isKept)
      parts.removeLast()
    }
    if parts.count > 1, let number = parts.last.flatMap({ UInt64($0) }) {
      renewals = number
      parts.removeLast()
    }
    name = parts.joined(separator: "~")
    // The token is sent back in a header, which cannot contain control characters.
    guard !name.isEmpty, name.utf8.count <= 255, name.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
  }

  /// Reads a token that a client sent; `nil` if it is malformed, or was not issued by this emulator under `strictAuth`.
  init?(_ text: String, _ configuration: EmulatorConfiguration) {
    guard configuration.strictAuth else {
      self.init(text)
      return
    }
    guard let stop = text.lastIndex(of: "."),
      AssetSeal(configuration).isSigned("web auth/\(text[..<stop])", String(text[text.index(after: stop)...]))
    else { return nil }
    self.init(String(text[..<stop]))
  }

  /// The token as it is given to clients.
  func text(_ configuration: EmulatorConfiguration) -> String {
    guard configuration.strictAuth else { return text }
    return "\(text).\(AssetSeal(configuration).signature(of: "web auth/\(text)"))"
  }

  private static func end(_ text: Substring) -> (time: Int64, isKept: Bool)? {
    let isKept = text.hasSuffix("k")
    return Int64(isKept ? text.dropLast() : text).map { ($0, isKept) }
  }

  private var text: String { "\(name)~\(renewals)" + (end.map { "~\($0)\(isKept ? "k" : "")" } ?? "") }

  func isGood(at time: Date) -> Bool { end.map { Timestamps.milliseconds(time) < $0 } ?? true }

  /// Returns the replacement for this token, with its own lifetime.
  func next(at time: Date, _ configuration: EmulatorConfiguration) -> WebAuthToken {
    var token = issued(at: time, configuration, isKept: isKept)
    token.renewals &+= 1
    return token
  }

  /// Returns the token with the lifetime of tokens issued now.
  func issued(at time: Date, _ configuration: EmulatorConfiguration, isKept: Bool) -> WebAuthToken {
    var token = self
    token.isKept = isKept
    token.end = configuration.webAuthTokenLifetime.map { lifetime in
      Timestamps.milliseconds(time) + (isKept ? Self.keptLifetime : lifetime).milliseconds
    }
    return token
  }

  /// Returns the user record name: `_` and 32 lowercase hexadecimal digits, derived from the name. [L3]
  static func recordName(of name: String) -> String {
    "_" + Derived.hexadecimal("user/\(name)")
  }
}
