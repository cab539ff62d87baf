/// What every role looks like. Themes are TOML files; see `parse(_:source:)`.
public struct Theme: Sendable, Hashable {
  /// Whether a theme is made for light text on a dark ground or the other way round.
  public enum Background: String, Sendable, Hashable {
    /// Light text on a dark ground.
    case dark
    /// Dark text on a light ground.
    case light
  }

  /// What a theme says about one role. What it leaves out comes from the role's parent.
  public struct Look: Sendable, Hashable {
    /// The colour of the characters.
    public var foreground: Color?
    /// The colour behind them.
    public var background: Color?
    /// Attributes, if the theme states any.
    public var attributes: Attributes?

    /// Makes a look.
    public init(foreground: Color? = nil, background: Color? = nil, attributes: Attributes? = nil) {
      self.foreground = foreground
      self.background = background
      self.attributes = attributes
    }
  }

  /// The name by which users choose the theme.
  public var name: String
  /// The version of the file format.
  public var version: Int
  /// What the theme is made for.
  public var background: Background
  /// The roles that the theme mentions.
  public var looks: [StyleRole: Look]

  /// Makes a theme.
  public init(name: String, version: Int = 1, background: Background, looks: [StyleRole: Look]) {
    self.name = name
    self.version = version
    self.background = background
    self.looks = looks
  }

  /// The complete look of a role, after its parents have filled the gaps.
  public func look(of role: StyleRole) -> Look {
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
