import Foundation
import JSONText

/// A point in the history of a zone or database: its identity and a counter. Opaque to clients. [E]
struct SyncToken: Hashable {
  /// Zone tokens and database tokens are not interchangeable. [D]
  enum Kind: UInt8 {
    case zone = 1
    case database = 2
  }

  var kind: Kind
  var identity: UInt64
  var sequence: Int64

  var text: String {
    var bytes = Data([kind.rawValue])
    withUnsafeBytes(of: identity.bigEndian) { bytes.append(contentsOf: $0) }
    withUnsafeBytes(of: sequence.bigEndian) { bytes.append(contentsOf: $0) }
    return bytes.base64EncodedString()
  }

  /// Returns the sequence number in a token from a client, which must be a version of this token; 0 without one.
  ///
  /// - Throws: The errors that a real server returned for a malformed and for a foreign token. [L1]
  func sequence(of json: JSON?, assumptions: EmulatorAssumptions) throws(ServerError) -> Int64 {
    guard let json else { return 0 }
    // In one of two observations the feed started over, in the other there was an error. [L1] (Question 12)
    if json == .string(""), assumptions.emptySyncToken == .startsOver { return 0 }
    guard let text = json.string, let bytes = Data(base64Encoded: text), bytes.count == 17 else {
      throw Self.refusal("Invalid continuation format", assumptions)
    }
    let number = { (range: Range<Int>) in bytes[range].reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
    let known = Int64(bitPattern: number(9..<17))
    guard bytes[0] == kind.rawValue, number(1..<9) == identity, (0...sequence).contains(known) else {
      throw Self.expired(assumptions)
    }
    return known
  }

  static func expired(_ assumptions: EmulatorAssumptions) -> ServerError {
    refusal("Unknown sync continuation type", assumptions)
  }

  /// Returns the error for an invalid token. The code was observed on first-party hosts. [L1] (Question 13)
  static func refusal(_ reason: String, _ assumptions: EmulatorAssumptions) -> ServerError {
    ServerError(assumptions.expiredSyncToken == .changeTokenExpired ? .changeTokenExpired : .badRequest, reason)
  }
}

/// Numbers and names that look random but are derived from the input, so that simulations replay.
enum Derived {
  /// Returns a hash of the text (FNV-1a with a final avalanche).
  static func number(_ text: String) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    hash = (hash ^ (hash >> 30)) &* 0xBF58_476D_1CE4_E5B9
    hash = (hash ^ (hash >> 27)) &* 0x94D0_49BB_1331_11EB
    return hash ^ (hash >> 31)
  }

  /// Returns 32 lowercase hexadecimal digits.
  static func hexadecimal(_ text: String) -> String {
    let numbers = (number(text).bigEndian, number("\(text)/2").bigEndian)
    return withUnsafeBytes(of: numbers) { $0.hexadecimal }
  }

  /// Returns an identifier in the format of a UUID, by default in capitals like record names made by the server.
  static func uuid(_ text: String, isLowercase: Bool = false) -> String {
    var digits = Array(hexadecimal(text).utf8)
    // A letter without the bit is the same letter in capitals.
    if !isLowercase { digits = digits.map { $0 < UInt8(ascii: "a") ? $0 : $0 & ~0x20 } }
    for place in [20, 16, 12, 8] { digits.insert(UInt8(ascii: "-"), at: place) }
    return String(decoding: digits, as: UTF8.self)
  }
}
