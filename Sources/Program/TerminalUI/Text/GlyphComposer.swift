/// Turns the code points of one grapheme cluster into glyphs.
struct GlyphComposer {
  let set: GlyphSet
  /// Whether the rest of the cluster only changes the emoji that came first.
  private(set) var isEmojiJoined = false

  private var glyphs: [Glyph] = []
  /// A character that still may get marks.
  private var base: String.UnicodeScalarView?
  private var baseColumns = 1
  private var isEmoji = false

  /// A terminal cell holds so many marks in ncurses.
  private static let mostMarks = 4

  init(set: GlyphSet) { self.set = set }

  mutating func add(_ scalar: Unicode.Scalar) {
    switch Treatment(scalar) {
    case .stand(let columns):
      close()
      base = String.UnicodeScalarView([scalar])
      baseColumns = columns
      isEmoji = scalar.properties.isEmoji && scalar.value > 0xFF
    case .mark:
      if base == nil { glyphs.append(placeholder) }
      if let count = base?.count, count <= Self.mostMarks { base?.append(scalar) }
    case .variation:
      // The bare character is one that everybody counts alike.
      break
    case .joiner where isEmoji, .skinTone where isEmoji:
      isEmojiJoined = true
    case .flagLetter(let letter):
      close()
      glyphs.append(Glyph(letter))
    case .placeholder, .skinTone:
      close()
      glyphs.append(placeholder)
    case .space:
      close()
      glyphs.append(Glyph(" "))
    case .control(let value):
      close()
      glyphs += visibleControl(value)
    case .invisible, .joiner:
      close()
      glyphs += hexadecimal(scalar)
    }
  }

  mutating func finish() -> [Glyph] {
    close()
    return glyphs
  }

  private mutating func close() {
    guard let scalars = base else { return }
    base = nil
    let character = Character(String(scalars))
    switch set {
    case .unicode, .console:
      glyphs.append(Glyph(character, columns: baseColumns))
    case .ascii:
      let likeness = GlyphSet.ascii(character)
      glyphs += Array(repeating: Glyph(likeness, isEscape: likeness == "?"), count: baseColumns)
    }
  }

  private var placeholder: Glyph { Glyph(set.placeholder, isEscape: true) }

  private func visibleControl(_ value: UInt8) -> [Glyph] {
    switch set {
    case .unicode:
      let symbol = Unicode.Scalar(0x2400 + UInt32(value == 0x7F ? 0x21 : value))
      return [Glyph(symbol.map { Character($0) } ?? set.placeholder, isEscape: true)]
    case .console, .ascii:
      return [Glyph("^", isEscape: true), Glyph(Character(Unicode.Scalar(value ^ 0x40)), isEscape: true)]
    }
  }

  private func hexadecimal(_ scalar: Unicode.Scalar) -> [Glyph] {
    let brackets = set == .unicode ? ("‹", "›") : ("<", ">")
    let digits = String(scalar.value, radix: 16, uppercase: true)
    return (brackets.0 + digits + brackets.1).map { Glyph($0, isEscape: true) }
  }
}

/// What is to be done with one code point.
private enum Treatment {
  case stand(columns: Int)
  case mark
  case variation
  case joiner
  case skinTone
  case flagLetter(Character)
  case placeholder
  case space
  case control(UInt8)
  case invisible

  init(_ scalar: Unicode.Scalar) {
    switch scalar.value {
    case 0x20..<0x7F: self = .stand(columns: 1)
    case 0..<0x20, 0x7F: self = .control(UInt8(scalar.value))
    case 0x200D: self = .joiner
    case 0xFE00...0xFE0F, 0xE0100...0xE01EF, 0x034F: self = .variation
    case 0x20E3: self = .variation
    case 0x1F3FB...0x1F3FF: self = .skinTone
    case 0x1F1E6...0x1F1FF: self = .flagLetter(Character(Unicode.Scalar(UInt8(scalar.value - 0x1F1E6 + 0x41))))
    case 0x00AD, 0x115F, 0x1160, 0x3164, 0xFFA0, 0x17B4, 0x17B5, 0x180B...0x180F: self = .invisible
    case 0x1160...0x11FF, 0xD7B0...0xD7FF: self = .placeholder
    default: self = Self.byCategory(scalar)
    }
  }

  private static func byCategory(_ scalar: Unicode.Scalar) -> Treatment {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: return .invisible
    case .unassigned, .privateUse, .surrogate: return .placeholder
    case .spaceSeparator: return scalar.value == 0x3000 ? .stand(columns: 2) : .space
    // Half of the programs count these as a cell, half do not.
    case .spacingMark: return .variation
    default: break
    }
    guard let age = scalar.properties.age, age.major <= WidthTable.newestUnicodeMajor,
      !WidthTable.isDisputed(scalar)
    else { return .placeholder }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark: return .mark
    default: return .stand(columns: WidthTable.columns(of: scalar))
    }
  }
}
