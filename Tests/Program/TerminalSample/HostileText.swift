/// Texts from a seed that try to leave their cells: controls, sequences of terminals, directions, marks and joined emoji.
struct HostileText {
  private var state: UInt64

  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

  /// A text for about this many cells.
  mutating func next(cells: Int) -> String {
    var text = ""
    for _ in 0..<cells { text += piece() }
    return text
  }

  /// xorshift64*.
  private mutating func below(_ bound: UInt32) -> UInt32 {
    state ^= state >> 12
    state ^= state << 25
    state ^= state >> 27
    return UInt32(truncatingIfNeeded: (state &* 0x2545_F491_4F6C_DD1D) >> 33) % bound
  }

  private static let sequences = [
    "\u{1B}[2J", "\u{1B}[31m", "\u{1B}[5;5H", "\u{1B}]0;title\u{7}", "\u{1B}]52;c;eA==\u{7}", "\u{1B}(0", "\u{1B}c",
    "\u{9B}2J", "\u{1B}[?1049l", "\u{1B}P1$r\u{1B}\\", "\r\n", "\u{85}", "\u{2028}", "\t", "\u{8}", "\u{E}", "\u{F}",
  ]
  private static let clusters = [
    "👩‍👩‍👧‍👦", "👍🏽", "🇩🇪", "🏴\u{E0067}\u{E0062}\u{E007F}", "❤️", "1️⃣", "e\u{301}\u{302}\u{303}", "한", "\u{1112}\u{1161}\u{11AB}",
    "नि", "กำ", "ש\u{5C1}", "لا", "\u{FDFD}", "﷽", "⟷", "□", "\u{1F3FB}", "ﾊﾟ", "𒐫",
  ]
  /// Ranges of scalars, each as likely as the others.
  private static let ranges: [(UInt32, UInt32)] = [
    (0x20, 0x7E), (0x00, 0x1F), (0x7F, 0xA0), (0xA1, 0x2FF), (0x300, 0x36F), (0x370, 0x6FF), (0x900, 0x109F),
    (0x1100, 0x11FF), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x2190, 0x27BF), (0x2E80, 0x9FFF),
    (0xAC00, 0xD7A3), (0xE000, 0xF8FF), (0xFE00, 0xFE0F), (0xFF00, 0xFFEF), (0xFFF0, 0xFFFF), (0x10000, 0x1FFFF),
    (0x1F000, 0x1FAFF), (0xE0000, 0xE01EF), (0, 0x10FFFF),
  ]

  private mutating func piece() -> String {
    switch below(8) {
    case 0: return Self.sequences[Int(below(UInt32(Self.sequences.count)))]
    case 1: return Self.clusters[Int(below(UInt32(Self.clusters.count)))]
    default:
      let range = Self.ranges[Int(below(UInt32(Self.ranges.count)))]
      return Unicode.Scalar(range.0 + below(range.1 - range.0 + 1)).map { String(Character($0)) } ?? "\u{FFFD}"
    }
  }
}
