/// A line of text being typed. It scrolls sideways, so that the cursor is always visible.
package struct InputLine: Widget {
  package var prompt: String
  package private(set) var text: String
  /// The cursor's place, counted in characters.
  package private(set) var cursor: Int

  /// The characters at the start that Ctrl-U leaves, unless the cursor is right behind them.
  private let kept: Int

  /// Makes a line with the cursor at its end.
  ///
  /// - Parameter kept: The characters at the start that Ctrl-U leaves at first, such as the name of a value.
  package init(prompt: String = "", text: String = "", kept: Int = 0) {
    (self.prompt, self.text, self.kept) = (prompt, text, kept)
    cursor = text.count
  }

  /// Edits the line. Returns whether the key meant something to it.
  ///
  /// What is pasted is put in as one line and never ends the typing.
  package mutating func handle(_ key: Key) -> Bool {
    switch key {
    case .character(let character): insert(String(character))
    case .paste(let pasted): insert(String(pasted.filter(\.isTypable)))
    case .left, .ctrl("b"): cursor = max(0, cursor - 1)
    case .right, .ctrl("f"): cursor = min(text.count, cursor + 1)
    case .home, .ctrl("a"): cursor = 0
    case .end, .ctrl("e"): cursor = text.count
    case .backspace: remove(cursor - 1..<cursor)
    case .delete, .ctrl("d"): remove(cursor..<cursor + 1)
    case .ctrl("u"): remove((cursor > kept ? kept : 0)..<cursor)
    case .ctrl("k"): remove(cursor..<text.count)
    case .ctrl("w"): remove(startOfWord..<cursor)
    default: return false
    }
    return true
  }

  /// Where the cursor belongs on the grid.
  package func cursor(in area: Rect, _ glyphs: GlyphSet = .unicode) -> Position? {
    guard !area.isEmpty else { return nil }
    let before = cells(prompt, in: glyphs) + cells(String(text.prefix(cursor)), in: glyphs)
    return Position(x: min(area.maxX - 1, area.x + before), y: area.y)
  }

  package func draw(on grid: inout Grid, in area: Rect) {
    let line = area.row(0)
    grid.fill(line, Style(.input))
    let start = grid.put(prompt, at: Position(x: line.x, y: line.y), Style(.key), in: line)
    let field = Rect(x: start, y: line.y, width: line.maxX - start, height: line.height)
    let before = cells(String(text.prefix(cursor)), in: grid.glyphs)
    let hidden = max(0, before - max(0, field.width - 1))
    grid.put(text, at: Position(x: field.x - hidden, y: field.y), Style(.input), in: field)
  }

  private var startOfWord: Int {
    let before = Array(text.prefix(cursor))
    let end = before.lastIndex { $0 != " " } ?? -1
    return end < 0 ? 0 : (before[...end].lastIndex(of: " ") ?? -1) + 1
  }

  /// Inserts as much as there is room for: without a limit each key would take longer than the one before.
  private mutating func insert(_ new: String) {
    let length = text.count
    let new = new.prefix(max(0, KeyParser.longestPaste - length))
    text.insert(contentsOf: new, at: text.index(text.startIndex, offsetBy: cursor))
    // A combining mark joins the character before it, so characters are counted, not assumed.
    cursor = max(0, min(text.count, cursor + text.count - length))
  }

  private mutating func remove(_ range: Range<Int>) {
    let range = range.clamped(to: 0..<text.count)
    let start = text.index(text.startIndex, offsetBy: range.lowerBound)
    text.removeSubrange(start..<text.index(start, offsetBy: range.count))
    cursor = min(range.lowerBound, text.count)
  }
}

extension Character {
  fileprivate var isTypable: Bool {
    !isNewline && unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
  }
}
