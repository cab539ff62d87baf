/// Which sequence of bytes is which key, for every terminal that speaks as xterm, rxvt, screen or Linux do.
///
/// Shift, Alt and Control on such keys are not told apart: terminals do not agree on how to say them.
enum KeyTable {
  /// The key for ESC [ `parameters` `final`; nil for what is no key, such as a terminal's answer.
  static func key(parameters: ArraySlice<UInt8>, final: UInt8) -> Key? {
    // Answers are marked by < = > ? in front or by characters between the numbers and the end.
    let isPlain = parameters.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x3B }
    guard isPlain else { return nil }
    switch final {
    case UInt8(ascii: "~"): return numbered(number(parameters))
    case UInt8(ascii: "R"): return parameters.isEmpty ? .function(3) : nil
    case UInt8(ascii: "c"), UInt8(ascii: "n"), UInt8(ascii: "t"), UInt8(ascii: "y"), UInt8(ascii: "x"),
      UInt8(ascii: "I"), UInt8(ascii: "O"), UInt8(ascii: "M"), UInt8(ascii: "m"):
      // `c` and `a` to `d` also are arrows with a modifier on rxvt, but answers always have numbers.
      return final == UInt8(ascii: "c") && parameters.isEmpty ? .right : nil
    case UInt8(ascii: "a"): return .up
    case UInt8(ascii: "b"): return .down
    case UInt8(ascii: "d"): return .left
    default: return letter(final)
    }
  }

  /// The key for ESC O `final`.
  static func applicationKey(_ final: UInt8) -> Key {
    switch final {
    case UInt8(ascii: "M"): .enter
    case UInt8(ascii: "p")...UInt8(ascii: "y"): .character(Character(Unicode.Scalar(final - 0x40)))
    case UInt8(ascii: "j")...UInt8(ascii: "o"): .character(Character(Unicode.Scalar(final - 0x40)))
    default: letter(final)
    }
  }

  private static func letter(_ final: UInt8) -> Key {
    switch final {
    case UInt8(ascii: "A"): .up
    case UInt8(ascii: "B"): .down
    case UInt8(ascii: "C"): .right
    case UInt8(ascii: "D"): .left
    case UInt8(ascii: "H"): .home
    case UInt8(ascii: "F"): .end
    case UInt8(ascii: "Z"): .backTab
    case UInt8(ascii: "P")...UInt8(ascii: "S"): .function(Int(final - UInt8(ascii: "P")) + 1)
    default: .unknown
    }
  }

  private static func numbered(_ number: Int) -> Key? {
    switch number {
    case 1, 7: .home
    case 2: .insert
    case 3: .delete
    case 4, 8: .end
    case 5: .pageUp
    case 6: .pageDown
    case 11...15: .function(number - 10)
    case 17...21: .function(number - 11)
    case 23...24: .function(number - 12)
    // The end of a paste that was not begun.
    case 201: nil
    default: .unknown
    }
  }

  private static func number(_ parameters: ArraySlice<UInt8>) -> Int {
    Int(String(decoding: parameters.prefix { $0 != 0x3B }, as: UTF8.self)) ?? 0
  }
}
