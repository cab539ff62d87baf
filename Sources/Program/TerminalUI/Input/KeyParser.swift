/// Turns the bytes that a terminal sends into keys, in whatever pieces they arrive.
///
/// What is pasted becomes one `Key.paste`. What the terminal answers to questions never becomes a key.
package struct KeyParser: Sendable {
  /// The most that is taken from one paste; the rest of it is dropped.
  package static let longestPaste = 64 * 1024

  private var bytes: ArraySlice<UInt8> = []
  private var state = State.keys
  private var pasted: [UInt8] = []

  private enum State {
    /// Keys are read. Leaves by the start of a paste or of a long answer.
    case keys
    /// Text is pasted. Leaves by the end mark, or by `flush`.
    case pasting
    /// A long answer (OSC, DCS and the like) is dropped. Leaves by its terminator, by a control character, or by
    /// `flush`.
    case answer(length: Int)
  }

  /// What could be read from the front of the bytes.
  private enum Step {
    case key(Key, length: Int)
    case nothing(length: Int)
    case needsMore
  }

  package init() {}

  /// The time in milliseconds after which `flush()` has to be called if nothing more comes; nil while nothing is begun.
  ///
  /// The beginning of a key is decided within a blink. A paste or a long answer without its end must not swallow keys
  /// for ever, but a slow line may hold up the rest of it.
  package var millisecondsToFlush: Int? {
    switch state {
    case .keys: isUndecided ? 25 : nil
    case .pasting, .answer: 2_000
    }
  }

  /// Whether the bytes seen so far may be a whole key or the beginning of another one.
  private var isUndecided: Bool {
    guard let first = bytes.first else { return false }
    // Only a program sends ESC [ within a blink, so the rest of it is on its way, however slow the line. ESC and the
    // start of an answer alone are a letter typed with Alt.
    guard first == 0x1B, let second = bytes.dropFirst().first else { return true }
    return second == 0x4F || bytes.count == 2 && Self.answerStarts[second] != nil
  }

  /// The bytes after ESC that may start an answer, each with those that follow it in one.
  private static let answerStarts: [UInt8: Set<UInt8>] = [
    // Device control: a number or a mark, such as ESC P 1 $ r.
    0x50: Set("0123456789$+!>|".utf8),
    // Operating system command: a number, or the letter of a title.
    0x5D: Set("0123456789lLI".utf8),
    // Application program command: that of graphics.
    0x5F: Set("G".utf8),
  ]

  /// Takes bytes and returns the keys that are complete.
  package mutating func feed(_ new: some Sequence<UInt8>) -> [Key] {
    bytes += new
    var keys: [Key] = []
    while !bytes.isEmpty {
      switch next() {
      case .key(let key, let length):
        keys.append(key)
        bytes = bytes.dropFirst(length)
      case .nothing(let length): bytes = bytes.dropFirst(length)
      case .needsMore:
        bytes = ArraySlice(Array(bytes))
        return keys
      }
    }
    bytes = []
    return keys
  }

  /// Decides that nothing more belongs to the bytes seen so far.
  package mutating func flush() -> [Key] {
    defer { state = .keys }
    switch state {
    case .keys: break
    case .pasting:
      bytes = []
      return [.paste(pastedText)]
    case .answer:
      bytes = []
      return []
    }
    guard isUndecided else { return [] }
    let second = bytes.dropFirst().first
    let letter = second.flatMap { Self.answerStarts[$0] == nil ? nil : Character(Unicode.Scalar($0)) }
    let key = bytes.first != 0x1B ? Key.unknown : letter.map(Key.alt) ?? .escape
    bytes = []
    return [key]
  }

  private mutating func next() -> Step {
    switch state {
    case .keys: return nextKey()
    case .pasting: return nextPasted()
    case .answer(let length): return nextOfAnswer(length)
    }
  }

  private mutating func nextKey() -> Step {
    guard let first = bytes.first else { return .needsMore }
    switch first {
    case 0x1B: return nextEscape()
    case 0x0D, 0x0A: return .key(.enter, length: 1)
    case 0x09: return .key(.tab, length: 1)
    case 0x7F, 0x08: return .key(.backspace, length: 1)
    case 0x00: return .key(.ctrl(" "), length: 1)
    case 0x01...0x1A: return .key(.ctrl(Character(Unicode.Scalar(first + 0x60))), length: 1)
    case 0x1C...0x1F: return .key(.ctrl(Character(Unicode.Scalar(first + 0x40))), length: 1)
    case 0x20..<0x7F: return .key(.character(Character(Unicode.Scalar(first))), length: 1)
    default: return nextUnicode(first)
    }
  }

  private func nextUnicode(_ first: UInt8) -> Step {
    let length: Int
    switch first {
    case 0xC2...0xDF: length = 2
    case 0xE0...0xEF: length = 3
    case 0xF0...0xF4: length = 4
    default: return .key(.unknown, length: 1)
    }
    let sequence = bytes.prefix(length)
    guard sequence.dropFirst().allSatisfy({ (0x80...0xBF).contains($0) }) else { return .key(.unknown, length: 1) }
    guard sequence.count == length else { return .needsMore }
    guard let text = String(validating: sequence, as: UTF8.self), let character = text.first,
      text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
    else { return .key(.unknown, length: length) }
    return .key(.character(character), length: length)
  }

  private mutating func nextEscape() -> Step {
    let rest = bytes.dropFirst()
    guard let second = rest.first else { return .needsMore }
    switch second {
    case 0x5B: return nextSequence(rest.dropFirst())
    case 0x4F:
      guard let third = rest.dropFirst().first else { return .needsMore }
      return .key(KeyTable.applicationKey(third), length: 3)
    case 0x50, 0x5D, 0x5F:
      guard let third = rest.dropFirst().first else { return .needsMore }
      guard Self.answerStarts[second]?.contains(third) == true else { break }
      state = .answer(length: 0)
      return .nothing(length: 2)
    default: break
    }
    switch second {
    case 0x20..<0x7F: return .key(.alt(Character(Unicode.Scalar(second))), length: 2)
    default: return .key(.escape, length: 1)
    }
  }

  /// Reads what follows ESC [.
  private mutating func nextSequence(_ rest: ArraySlice<UInt8>) -> Step {
    // The Linux console says ESC [ [ A for F1.
    if rest.first == 0x5B {
      guard let letter = rest.dropFirst().first else { return .needsMore }
      return .key((0x41...0x45).contains(letter) ? .function(Int(letter) - 0x40) : .unknown, length: 4)
    }
    let parameters = rest.prefix { (0x20..<0x40).contains($0) }
    guard parameters.count <= 64 else { return .nothing(length: 2 + parameters.count) }
    guard let final = rest.dropFirst(parameters.count).first else { return .needsMore }
    let length = 3 + parameters.count
    // Something else begins in the middle of the sequence: what there is of it is dropped.
    guard (0x40..<0x7F).contains(final) else { return .nothing(length: length - 1) }
    if final == 0x7E, parameters.elementsEqual("200".utf8) {
      state = .pasting
      pasted = []
      return .nothing(length: length)
    }
    // A terminal that cannot report positions of any size sends three bytes more, which are no keys.
    if parameters.isEmpty, final == UInt8(ascii: "M") {
      return rest.count < 4 ? .needsMore : .nothing(length: length + 3)
    }
    if parameters.first == UInt8(ascii: "<"), final == UInt8(ascii: "M") {
      guard let mouse = Mouse(report: parameters.dropFirst()) else { return .nothing(length: length) }
      return .key(.mouse(mouse), length: length)
    }
    guard let key = KeyTable.key(parameters: parameters, final: final) else { return .nothing(length: length) }
    return .key(key, length: length)
  }

  private mutating func nextPasted() -> Step {
    let mark = Array("\u{1B}[201~".utf8)
    let text = bytes.prefix { $0 != 0x1B }
    paste(text)
    guard text.isEmpty else { return .nothing(length: text.count) }
    let tail = bytes.prefix(mark.count)
    if tail.elementsEqual(mark) {
      state = .keys
      return .key(.paste(pastedText), length: mark.count)
    }
    guard !mark.starts(with: tail) else { return .needsMore }
    // An escape character inside of what is pasted is part of it.
    paste(bytes.prefix(1))
    return .nothing(length: 1)
  }

  /// The pasted text, without the beginning of a character at its end.
  private var pastedText: String {
    let cut = (0...3).first { String(validating: pasted.dropLast($0), as: UTF8.self) != nil } ?? 0
    return String(decoding: pasted.dropLast(cut), as: UTF8.self)
  }

  private mutating func paste(_ text: ArraySlice<UInt8>) {
    pasted += text.prefix(max(0, Self.longestPaste - pasted.count))
  }

  private mutating func nextOfAnswer(_ length: Int) -> Step {
    guard let first = bytes.first else { return .needsMore }
    if first == 0x1B {
      guard let second = bytes.dropFirst().first else { return .needsMore }
      state = .keys
      return .nothing(length: second == 0x5C ? 2 : 0)
    }
    let isOver = first < 0x20 || length > 4096
    state = isOver ? .keys : .answer(length: length + 1)
    // A control character other than the terminator was typed.
    return .nothing(length: first < 0x20 && first != 0x07 ? 0 : 1)
  }
}
