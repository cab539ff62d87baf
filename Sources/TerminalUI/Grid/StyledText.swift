/// A line of text whose parts may have different meanings.
///
///     let line: StyledText = [.init("3 waiting", .pending), .init(" of 12", .dim)]
public struct StyledText: Sendable, Hashable, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral {
  /// A part of the line that has one style.
  public struct Span: Sendable, Hashable {
    /// The part's text, as raw as it came.
    public var text: String
    /// The part's style.
    public var style: Style

    /// Makes a part with a role.
    public init(_ text: String, _ role: StyleRole = .text, _ attributes: Attributes = []) {
      self.text = text
      self.style = Style(role, attributes)
    }

    /// Makes a part with a style.
    public init(_ text: String, style: Style) {
      self.text = text
      self.style = style
    }
  }

  /// The parts, from left to right.
  public var spans: [Span]

  /// Makes a line from parts.
  public init(_ spans: [Span]) {
    self.spans = spans
  }

  /// Makes a line of one part.
  public init(_ text: String, _ role: StyleRole = .text, _ attributes: Attributes = []) {
    spans = [Span(text, role, attributes)]
  }

  /// Makes ordinary text.
  public init(stringLiteral value: String) {
    self.init(value)
  }

  /// Makes a line from parts.
  public init(arrayLiteral elements: Span...) {
    spans = elements
  }

  /// The text without its styles.
  public var plain: String { spans.map(\.text).joined() }

  /// The cells that the line takes when it is not clipped.
  public func cells(in glyphs: GlyphSet = .unicode) -> Int {
    spans.reduce(0) { $0 + TerminalUI.cells($1.text, in: glyphs) }
  }

  /// The same text on the ground of another role, such as a banner's.
  public func on(_ ground: StyleRole) -> StyledText {
    StyledText(
      spans.map { span in
        var style = span.style
        if !style.role.hasOwnGround { style.ground = style.role == ground ? nil : ground }
        return Span(span.text, style: style)
      }
    )
  }

  /// The same text with its parts of some roles, without more the ordinary ones, in another role.
  func castingText(to role: StyleRole, from roles: Set<StyleRole> = [.text]) -> StyledText {
    StyledText(
      spans.map {
        roles.contains($0.style.role) ? Span($0.text, style: Style(role, $0.style.attributes, on: $0.style.ground)) : $0
      }
    )
  }

  /// Two lines one after the other.
  public static func + (left: StyledText, right: StyledText) -> StyledText {
    StyledText(left.spans + right.spans)
  }
}
