/// A line of text whose parts may have different meanings.
///
///     let line: StyledText = [.init("3 waiting", .pending), .init(" of 12", .dim)]
package struct StyledText: Sendable, Hashable, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral {
  /// A part of the line that has one style.
  package struct Span: Sendable, Hashable {
    /// The part's text, as raw as it came.
    package var text: String
    package var style: Style

    /// Makes a part with a role.
    package init(_ text: String, _ role: StyleRole = .text, _ attributes: Attributes = []) {
      (self.text, self.style) = (text, Style(role, attributes))
    }

    /// Makes a part with a style.
    package init(_ text: String, style: Style) { (self.text, self.style) = (text, style) }
  }

  package var spans: [Span]

  /// Makes a line from parts.
  package init(_ spans: [Span]) { self.spans = spans }

  package init(_ text: String, _ role: StyleRole = .text, _ attributes: Attributes = []) {
    spans = [Span(text, role, attributes)]
  }

  /// Makes ordinary text.
  package init(stringLiteral value: String) { self.init(value) }

  /// Makes a line from parts.
  package init(arrayLiteral elements: Span...) { spans = elements }

  package var plain: String { spans.map(\.text).joined() }

  /// The cells that the line takes when it is not clipped.
  package func cells(in glyphs: GlyphSet = .unicode) -> Int {
    spans.reduce(0) { $0 + TerminalUI.cells($1.text, in: glyphs) }
  }

  /// The same text on the ground of another role, such as a banner's.
  package func on(_ ground: StyleRole) -> StyledText {
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

  package static func + (left: StyledText, right: StyledText) -> StyledText {
    StyledText(left.spans + right.spans)
  }
}
