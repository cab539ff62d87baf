/// A theme made ready for one terminal: the colour numbers and attributes of every role.
package struct Palette: Sendable, Hashable {
  /// A cell's looks in the terminal's own terms.
  package struct Entry: Sendable, Hashable {
    /// The colour number of the characters, or -1 for the terminal's default.
    package let foreground: Int
    /// The colour number behind them, or -1 for the terminal's default.
    package let background: Int
    package let attributes: Attributes
  }

  private let entries: [StyleRole: Entry]
  private let depth: ColorDepth

  /// Makes a theme ready for a terminal with that many colours. The same input gives the same result everywhere.
  package init(_ theme: Theme, depth: ColorDepth) {
    self.depth = depth
    entries = Dictionary(
      uniqueKeysWithValues: StyleRole.allCases.map { role in
        (role, Self.entry(theme.look(of: role), role, depth))
      }
    )
  }

  package subscript(_ style: Style) -> Entry {
    let role = self[style.role]
    let ground = style.ground.map { self[$0] }
    let background = ground?.background ?? role.background
    return Entry(
      foreground: Self.visible(role.foreground, on: background, depth),
      background: background,
      // Without colours, a ground shows by what it does to blanks, too.
      attributes: role.attributes.union(style.attributes)
        .union(ground?.attributes.intersection([.reverse, .underline]) ?? [])
    )
  }

  /// How to draw a blank in a style: like all blanks on the same ground, so that it need not be sent again when only
  /// the text changes that it belongs to.
  package func blank(_ style: Style) -> Entry {
    let look = self[style]
    guard look.attributes.isDisjoint(with: [.reverse, .underline]) else { return look }
    return Entry(foreground: self[StyleRole.text].foreground, background: look.background, attributes: [])
  }

  private subscript(_ role: StyleRole) -> Entry {
    guard let entry = entries[role] else { preconditionFailure("A role is missing from the palette.") }
    return entry
  }

  private static func entry(_ look: Theme.Look, _ role: StyleRole, _ depth: ColorDepth) -> Entry {
    let attributes = look.attributes ?? []
    guard depth != .monochrome else {
      return Entry(foreground: -1, background: -1, attributes: attributes.union(role.plainAttributes))
    }
    let background = depth.number(for: look.background ?? .standard)
    let foreground = visible(depth.number(for: look.foreground ?? .standard), on: background, depth)
    return Entry(foreground: foreground, background: background, attributes: attributes)
  }

  /// The colour number, or black or white where it cannot be read on its ground: two colours of the theme fell
  /// together, or came too near to each other because the terminal has few.
  private static func visible(_ foreground: Int, on background: Int, _ depth: ColorDepth) -> Int {
    guard foreground >= 0 else { return foreground }
    let ground = depth.components(of: background) ?? RGB(0, 0, 0)
    let isFew = depth == .sixteen || depth == .eight
    let isTooNear = isFew && background >= 0 && (depth.components(of: foreground)?.contrast(to: ground) ?? 21) < 4.5
    guard foreground == background || isTooNear else { return foreground }
    let choices = [Color.indexed(depth == .eight ? 7 : 15), .indexed(0)].map(depth.number)
    func contrast(_ number: Int) -> Double { depth.components(of: number)?.contrast(to: ground) ?? 0 }
    return contrast(choices[0]) >= contrast(choices[1]) ? choices[0] : choices[1]
  }
}
