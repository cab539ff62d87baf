/// Splits a schema text into words, quoted identifiers and punctuation, each with the comments before it. [FW]
struct SchemaLexer {
  enum Kind: Equatable {
    case word(String)
    case quoted(String)
    case mark(UInt8)
    case end
  }

  struct Token {
    var kind: Kind
    var place: CKSchema.Place
    /// The line breaks and comments between the previous token and this one.
    var trivia: [SchemaLine.Trivia]

    /// The token as error messages show it: only printable ASCII, so that a hostile text cannot control a terminal.
    var text: String {
      switch kind {
      case .word(let text): "\"\(text.prefix(40))\""
      case .quoted(let text): "\"\\\"\(text.prefix(40))\\\"\""
      case .mark(let byte): "\"\(Character(UnicodeScalar(byte)))\""
      case .end: "<EOF>"
      }
    }

    /// Whether the token is the keyword. Case is ignored, because the grammar prints keywords in capitals and reserved
    /// words in lower case. [E]
    func `is`(_ keyword: String) -> Bool {
      if case .word(let text) = kind { text.uppercased() == keyword } else { false }
    }

    func `is`(mark: Character) -> Bool {
      if case .mark(let byte) = kind { Character(UnicodeScalar(byte)) == mark } else { false }
    }
  }

  private let bytes: [UInt8]
  private var position = 0
  private var place = CKSchema.Place()

  init(_ text: String) {
    bytes = Array(text.utf8)
  }

  mutating func next() throws(CKSchemaError) -> Token {
    let trivia = try trivia()
    let start = place
    return Token(kind: try kind(), place: start, trivia: trivia)
  }

  private mutating func kind() throws(CKSchemaError) -> Kind {
    let start = place
    guard let byte = peek() else { return .end }
    if byte == UInt8(ascii: "\"") { return .quoted(try quoted(from: start)) }
    if Self.marks.contains(byte) {
      advance()
      return .mark(byte)
    }
    let word = take { CKSchema.isLetter($0) || CKSchema.isDigit($0) || $0 == UInt8(ascii: "_") }
    guard !word.isEmpty else { throw unexpected(byte, at: start) }
    return .word(word)
  }

  private static let marks = Set("(),;<>.".utf8)

  /// Reads a quoted identifier. There is no escape: it ends at the next quotation mark and cannot span lines. [E]
  private mutating func quoted(from start: CKSchema.Place) throws(CKSchemaError) -> String {
    advance()
    let text = take { $0 > 0x1F && $0 < 0x7F && $0 != UInt8(ascii: "\"") }
    guard let byte = peek() else { throw CKSchemaError("Unterminated identifier", at: start) }
    guard byte == UInt8(ascii: "\"") else { throw unexpected(byte, at: place) }
    advance()
    guard !text.isEmpty, text.utf8.count <= 255 else {
      throw CKSchemaError("An identifier has between 1 and 255 characters:", at: start)
    }
    return text
  }

  private mutating func trivia() throws(CKSchemaError) -> [SchemaLine.Trivia] {
    var trivia: [SchemaLine.Trivia] = []
    while let byte = peek() {
      let start = position
      switch (byte, peek(1)) {
      case (0x20, _), (0x09...0x0D, _):
        if byte == 0x0A { trivia.append(.lineBreak) }
        advance()
        continue
      case (UInt8(ascii: "/"), UInt8(ascii: "/")), (UInt8(ascii: "-"), UInt8(ascii: "-")):
        while let next = peek(), next != 0x0A { advance() }
      case (UInt8(ascii: "/"), UInt8(ascii: "*")): try skipComment()
      default: return trivia
      }
      let end = bytes[start..<position].lastIndex { $0 > 0x20 } ?? start
      trivia.append(.comment(String(decoding: bytes[start...end], as: UTF8.self)))
    }
    return trivia
  }

  private mutating func skipComment() throws(CKSchemaError) {
    let start = place
    advance()
    advance()
    while let byte = peek() {
      if byte == UInt8(ascii: "*"), peek(1) == UInt8(ascii: "/") {
        advance()
        advance()
        return
      }
      advance()
    }
    throw CKSchemaError("Unterminated comment", at: start)
  }

  private func unexpected(_ byte: UInt8, at place: CKSchema.Place) -> CKSchemaError {
    let isPrintable = byte > 0x1F && byte < 0x7F
    let name = isPrintable ? "\"\(Character(UnicodeScalar(byte)))\"" : "the byte 0x\(String(byte, radix: 16))"
    return CKSchemaError("Encountered \(name)", at: place)
  }

  private func peek(_ distance: Int = 0) -> UInt8? {
    position + distance < bytes.count ? bytes[position + distance] : nil
  }

  private mutating func take(while isPart: (UInt8) -> Bool) -> String {
    let start = position
    while let byte = peek(), isPart(byte) { advance() }
    return String(decoding: bytes[start..<position], as: UTF8.self)
  }

  private mutating func advance() {
    let byte = bytes[position]
    position += 1
    if byte == 0x0A {
      place.line += 1
      place.column = 1
    } else if byte & 0xC0 != 0x80 {
      // Continuation bytes of a UTF-8 character do not advance the column.
      place.column += 1
    }
  }
}
