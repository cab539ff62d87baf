import Foundation

/// A point in the history of a zone or of a database: an identity and a counter. Opaque to clients. [E]
struct SyncToken: Hashable {
  /// Zone and database tokens are not interchangeable. [D]
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

  init(kind: Kind, identity: UInt64, sequence: Int64) {
    self.kind = kind
    self.identity = identity
    self.sequence = sequence
  }

  /// Reads a token that a client sent back.
  ///
  /// - Throws: the two refusals a real server gave for a broken and for a foreign token. [L1]
  static func sequence(
    in json: JSON?,
    kind: Kind,
    identity: UInt64,
    newest: Int64,
    assumptions: EmulatorAssumptions
  ) throws(ServerError) -> Int64 {
    guard let json else { return 0 }
    // Of two observations one had the feed start over and one an error. [L1] (Question 12)
    if json == .string(""), assumptions.emptySyncToken == .startsOver { return 0 }
    guard let text = json.string, let bytes = Data(base64Encoded: text), bytes.count == 17 else {
      throw refusal("Invalid continuation format", assumptions)
    }
    let number = { (range: Range<Int>) in bytes[range].reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
    let sequence = Int64(bitPattern: number(9..<17))
    guard bytes[0] == kind.rawValue, number(1..<9) == identity, (0...newest).contains(sequence) else {
      throw expired(assumptions)
    }
    return sequence
  }

  static func expired(_ assumptions: EmulatorAssumptions) -> ServerError {
    refusal("Unknown sync continuation type", assumptions)
  }

  /// The code is the one that was seen on first-party hosts. [L1] (Question 13)
  static func refusal(_ reason: String, _ assumptions: EmulatorAssumptions) -> ServerError {
    ServerError(assumptions.expiredSyncToken == .changeTokenExpired ? .changeTokenExpired : .badRequest, reason)
  }
}

/// Numbers and names that look random and are not: equal inputs give equal outputs, so simulations replay.
enum Derived {
  /// A hash that mixes every byte of the text (FNV-1a with a final avalanche).
  static func number(_ text: String) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    hash = (hash ^ (hash >> 30)) &* 0xBF58_476D_1CE4_E5B9
    hash = (hash ^ (hash >> 27)) &* 0x94D0_49BB_1331_11EB
    return hash ^ (hash >> 31)
  }

  /// 32 lowercase hexadecimal digits.
  static func hexadecimal(_ text: String) -> String {
    String(decoding: digits(text, ten: UInt8(ascii: "a")), as: UTF8.self)
  }

  /// An identifier in the spelling of a UUID, in capitals as record names made by the server are.
  static func uuid(_ text: String) -> String {
    var digits = digits(text, ten: UInt8(ascii: "A"))
    for place in [20, 16, 12, 8] { digits.insert(UInt8(ascii: "-"), at: place) }
    return String(decoding: digits, as: UTF8.self)
  }

  /// 32 of them, the first that is a letter as given.
  private static func digits(_ text: String, ten: UInt8) -> [UInt8] {
    [number(text), number("\(text)/2")].flatMap { number in
      stride(from: 60, through: 0, by: -4).map { shift in
        let digit = UInt8(truncatingIfNeeded: number >> UInt64(shift)) & 15
        return digit < 10 ? UInt8(ascii: "0") + digit : ten + digit - 10
      }
    }
  }
}
