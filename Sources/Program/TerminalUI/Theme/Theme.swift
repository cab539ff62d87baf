/// What every role looks like. Themes are TOML files; see `parse(_:source:)`.
package struct Theme: Sendable, Hashable {
  /// Whether a theme is made for light text on a dark ground or the other way round.
  package enum Background: String, Sendable, Hashable {
    case dark, light
  }

  /// The look of one role in a theme. Colours that it leaves out come from the role's parent; attributes do not.
  package struct Look: Sendable, Hashable {
    package var foreground: Color?
    package var background: Color?
    /// Attributes, if the theme states any.
    package var attributes: Attributes?

    package init(foreground: Color? = nil, background: Color? = nil, attributes: Attributes? = nil) {
      (self.foreground, self.background, self.attributes) = (foreground, background, attributes)
    }
  }

  /// The name by which users choose the theme.
  package var name: String
  /// What the theme is made for.
  package var background: Background
  /// The roles that the theme mentions.
  package var looks: [StyleRole: Look]

  package init(name: String, background: Background, looks: [StyleRole: Look]) {
    (self.name, self.background, self.looks) = (name, background, looks)
  }

  /// The complete look of a role, with the colours of its parents where it has none.
  package func look(of role: StyleRole) -> Look {
    var look = looks[role] ?? Look()
    var ancestor = role
    while let parent = ancestor.parent {
      look.foreground = look.foreground ?? looks[parent]?.foreground
      look.background = look.background ?? looks[parent]?.background
      ancestor = parent
    }
    // Colours of its own set a role apart; reversing them on top would undo what the theme says.
    let isColored = looks[role]?.foreground != nil || looks[role]?.background != nil
    look.attributes = look.attributes ?? (isColored ? [] : role.plainAttributes)
    return look
  }
}

extension StyleRole {
  /// The role whose colours stand in where a theme says nothing.
  var parent: StyleRole? {
    switch self {
    case .text: nil
    case .titleFocused: .title
    case .borderFocused: .border
    case .selectionUnfocused: .selection
    case .progressTrack: .dim
    default: .text
    }
  }

  /// The attributes that keep roles apart where there are no colours to do it.
  var plainAttributes: Attributes {
    switch self {
    case .text, .keyLabel, .dialog, .ok, .sparkline, .base, .border, .info, .title: []
    case .dim, .progressTrack, .pending: .dim
    case .strong, .titleFocused, .banner, .key, .warning, .active, .borderFocused, .local, .marked: .bold
    case .header, .input, .match, .server: .underline
    case .error: [.bold, .underline]
    case .badge, .conflict: [.bold, .reverse]
    case .selection, .progress, .escaped: .reverse
    case .selectionUnfocused: [.underline, .dim]
    }
  }
}
