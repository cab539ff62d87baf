/// What a piece of text means. A theme decides what each meaning looks like.
package enum StyleRole: String, Sendable, Hashable, CaseIterable {
  // Text
  /// Ordinary text, and the ground that everything stands on.
  case text
  /// Text that matters less: units, placeholders, things that are over.
  case dim
  /// Text that matters more than its neighbours.
  case strong
  /// Where data was replaced to be shown safely, such as a control character.
  case escaped

  // Frames
  case title
  /// The title of the pane that has the keyboard.
  case titleFocused
  case border
  /// The frame of the pane that has the keyboard.
  case borderFocused
  /// The line that names a table's columns.
  case header
  /// The top line of the whole screen.
  case banner
  /// A word that must not be overlooked, such as that these are the real data. It stands on a ground of its own.
  case badge
  /// A dialog that lies over the panes.
  case dialog
  /// A line of text being typed.
  case input

  // Choosing
  /// The chosen row of the focused pane.
  case selection
  /// The chosen row of a pane without the keyboard.
  case selectionUnfocused
  /// The mark of a row that a command will act on together with others.
  case marked
  /// Text that matches what is searched for, or that differs from the text beside it.
  case match
  case key
  case keyLabel

  // States
  /// It worked.
  case ok
  /// Something to know.
  case info
  /// It waits its turn.
  case pending
  /// It happens right now.
  case active
  /// It needs attention soon.
  case warning
  case error
  /// Two sides disagree.
  case conflict

  // Measures
  /// The part of a bar that is done.
  case progress
  /// The part of a bar that is to come.
  case progressTrack
  /// A small history of numbers.
  case sparkline

  // The three sides of a conflict
  /// What both sides started from.
  case base
  /// What this machine has.
  case local
  /// What the server has.
  case server
}

extension StyleRole {
  /// Whether the role stands out by its ground, which no other ground may replace.
  var hasOwnGround: Bool { self == .badge || self == .escaped }
}

/// How a cell is drawn, besides its colours.
package struct Attributes: OptionSet, Sendable, Hashable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let bold = Attributes(rawValue: 1)
  package static let underline = Attributes(rawValue: 2)
  /// Foreground and background exchanged.
  package static let reverse = Attributes(rawValue: 4)
  package static let dim = Attributes(rawValue: 8)
}

/// A meaning with attributes on top of what the theme gives it.
package struct Style: Sendable, Hashable {
  /// What the text means.
  package var role: StyleRole
  /// Attributes added to the role's own.
  package var attributes: Attributes
  /// The role on whose ground the text stands; nil for its own ground.
  package var ground: StyleRole?

  package init(_ role: StyleRole, _ attributes: Attributes = [], on ground: StyleRole? = nil) {
    (self.role, self.attributes, self.ground) = (role, attributes, ground)
  }

  package static let text = Style(.text)

  /// The style of a glyph in a text of this style. Escaped characters stand out from ordinary text.
  func of(_ glyph: Glyph) -> Style {
    glyph.isEscape && role == .text ? Style(.escaped, attributes) : self
  }
}
