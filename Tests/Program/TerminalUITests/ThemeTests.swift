import Foundation
import TestSupport
import Testing

@testable package import TerminalUI

extension Theme: CustomTestStringConvertible {
  /// The name is enough in a test's report.
  package var testDescription: String { name }
}

@Suite(.serialized) struct ThemeTests {
  @Test func `the themes that are compiled in are found by name`() throws {
    #expect(Theme.builtIn.map(\.name) == Theme.builtInNames && Theme.builtIn.count >= 8)
    #expect(try Theme.load(named: "paper", directories: []).background == .light)
  }

  @Test func `an unknown theme is answered with the known ones`() {
    let expected = ThemeError.unknown("nope", known: Theme.builtInNames)
    #expect(throws: expected) { try Theme.load(named: "nope", directories: []) }
  }

  @Test func `a user's file lies over the theme of the same name`() throws {
    let folder = try TemporaryFolder()
    let directory = folder.url
    _ = try folder.file("paper.toml", "name = \"paper\"\nbackground = \"dark\"\n")

    #expect(try Theme.load(named: "paper", directories: [directory]).background == .dark)
    #expect(throws: ThemeError.self) { try Theme.load(named: "../paper", directories: [directory]) }
    // A file that the system does not show may exist.
    let plain = directory.appendingPathComponent("plain.toml")
    try FileManager.default.createSymbolicLink(at: plain, withDestinationURL: plain)
    #expect(throws: ThemeError.self) { try Theme.load(named: "plain", directories: [directory]) }
    withExtendedLifetime(folder) {}
  }

  private static let head = "name = \"x\"\nbackground = \"dark\"\n"

  /// The mistakes of a theme's text.
  private func mistakes(_ text: String) -> [ThemeError.Mistake] {
    let error = #expect(throws: ThemeError.self) { try Theme.parse(text, source: "t.toml") }
    guard case .mistakes(let mistakes, let file) = error else { return [] }
    #expect(file == "t.toml")
    return mistakes
  }

  @Test(
    arguments: [
      ("\(head)[roles]\ntext = { fg = \"#12\" }", .notColor, "roles.text.fg", 4),
      ("\(head)[roles]\ntext = { bg = true }", .notColor, "roles.text.bg", 4),
      ("\(head)[colors]\nink = \"mint\"\nmint = 300", .notColor, "colors.ink", 4),
      ("\(head)[roles]\nnope = { fg = 1 }", .unknownRole, "roles.nope", 4),
      ("\(head)[roles.text]\nblink = true", .unknownRoleKey, "roles.text.blink", 4),
      ("\(head)[roles.text]\nbold = 1", .notFlag, "roles.text.bold", 4),
      ("\(head)[roles]\ntext = \"red\"", .notLook, "roles.text", 4), ("\(head)roles = 1", .notTable, "roles", 3),
      ("\(head)colors = []", .notTable, "colors", 3), ("\(head)colours = {}", .unknownKey, "colours", 3),
      ("name = \"x\"\nbackground = \"dim\"", .notBackground, "background", 2),
      ("name = \"x\"", .noBackground, "background", nil),
      ("name = \"x\"\nversion = 2\nbackground = \"dark\"", .notVersion, "version", 2),
      ("background = \"dark\"", .noName, "name", nil), ("name = \"\"\nbackground = \"dark\"", .notName, "name", 1),
      ("name = x\nbackground = \"dark\"", .unquoted(UnquotedText(key: "name", text: "x")), nil, 1),
      ("\(head)\0[roles", .hasNUL, nil, 3),
    ] as [(String, ThemeError.Fault, String?, Int?)]
  )
  func `a mistake has its key and its line`(text: String, fault: ThemeError.Fault, key: String?, line: Int?) {
    #expect(mistakes(text).first == ThemeError.Mistake(fault, key: key, line: line))
  }

  @Test func `all mistakes of a theme are reported at once, in the order of their lines`() {
    let text = """
      colours = 1
      [colors]
      ink = "#12"
      [roles]
      strong = { dim = true, fg = "ink" }
      dim = { fg = "nope" }
      error = { bold = "yes", blink = true }
      text = { fg = "ink" }
      """
    let expected: [(ThemeError.Fault, String, Int?)] = [
      (.unknownKey, "colours", 1), (.notColor, "colors.ink", 3), (.notColor, "roles.dim.fg", 6),
      (.unknownRoleKey, "roles.error.blink", 7), (.notFlag, "roles.error.bold", 7),
      (.noBackground, "background", nil), (.noName, "name", nil),
    ]

    #expect(mistakes(text) == expected.map { ThemeError.Mistake($0.0, key: $0.1, line: $0.2) })
  }

  @Test func `an error is one line that begins with the mistakes and ends with the path`() {
    let mistakes: [ThemeError.Mistake] = [.init(.notColor, key: "roles.text.fg", line: 4), .init(.noName, key: "name")]
    let path = "/home/ada/.config/cktop/themes/mine.toml"
    let text = ThemeError.mistakes(mistakes, file: path).description

    #expect(text.prefix(80).contains("mine.toml line 4: roles.text.fg") && text.prefix(80).contains("; name"))
    #expect(text.hasSuffix(path) && text.ranges(of: path).count == 1)
    #expect(ThemeError.mistakes([.init(.syntax("a\nb"), line: 1)], file: path).description.contains("\n") == false)
  }

  @Test(arguments: [
    ThemeError.unknown("mine", known: ["paper"]), .unreadable(file: "mine.toml", reason: "it is a folder"),
    .mistakes([.init(.noName, key: "name")], file: "mine.toml"),
  ])
  func `no error begins with the name of a theme, which would get a capital letter`(error: ThemeError) {
    #expect(error.description.contains("mine") && !error.description.hasPrefix("mine"))
  }

  @Test func `a text that is not TOML has the parser's words and line`() {
    let first = mistakes("name = \"x\nbackground = \"dark\"").first

    #expect(first?.line == 1 && first?.key == nil)
    guard case .syntax = first?.fault else {
      Issue.record("\(String(describing: first))")
      return
    }
  }

  @Test func `a role that is left out looks like its parent`() throws {
    let theme = try Theme.parse(
      "name = \"x\"\nbackground = \"dark\"\n[roles]\ntext = { fg = 7, bg = 0 }\ntitle = { fg = \"green\" }",
      source: "x.toml"
    )

    #expect(theme.look(of: .titleFocused).foreground == .indexed(2))
    #expect(theme.look(of: .titleFocused).background == .indexed(0))
    #expect(theme.look(of: .selection).attributes == .reverse)
  }

  @Test(
    arguments: [
      ("", [.bold, .underline]), ("error = { fg = 1 }", []), ("error = { dim = true }", .dim),
      ("error = { bold = false }", []), ("error = { fg = 1, reverse = true }", .reverse),
    ] as [(String, Attributes)]
  )
  func `a role has the attributes that it states, and none of its parent`(line: String, attributes: Attributes) throws {
    let text = "\(Self.head)[roles]\ntext = { fg = 7, reverse = true, dim = true }\n\(line)"

    #expect(try Theme.parse(text, source: "x.toml").look(of: .error).attributes == attributes)
  }

  @Test(arguments: Theme.builtIn, [ColorDepth.direct, .palette, .sixteen, .eight])
  func `every text of every theme can be read`(theme: Theme, depth: ColorDepth) {
    // Lines and tracks are shapes, not text.
    for role in StyleRole.allCases where ![.border, .progressTrack].contains(role) {
      for ground in [nil, StyleRole.banner, .dialog, .selection, .selectionUnfocused] {
        let text = ground.map(StyledText("text", role).on) ?? StyledText("text", role)
        for span in text.spans {
          let contrast = theme.contrast(of: span.style, depth: depth)
          // On the magenta of eight colours neither black nor white has more.
          #expect(
            contrast >= (depth == .eight ? 4.4 : 4.5),
            "\(role.rawValue) on \(ground?.rawValue ?? "its own ground")"
          )
        }
      }
    }
  }

  @Test(arguments: Theme.builtIn, [ColorDepth.direct, .palette])
  func `the selected row stands out by its ground or by reversed text`(theme: Theme, depth: ColorDepth) {
    let palette = Palette(theme, depth: depth)
    let (row, selected) = (palette[.text], palette[Style(.text, on: .selection)])
    #expect(selected.background != row.background || selected.attributes != row.attributes)
  }

  @Test(arguments: Theme.builtIn, ColorDepth.allCases)
  func `text never has the colour of its ground`(theme: Theme, depth: ColorDepth) {
    let palette = Palette(theme, depth: depth)
    for role in StyleRole.allCases {
      for ground in [nil] + StyleRole.allCases {
        let entry = palette[Style(role, on: ground)]
        #expect(entry.foreground != entry.background || entry.foreground == -1)
      }
    }
  }

  @Test(arguments: ["\n", "\r\n"]) func `the line of a key is found whatever ends the lines`(end: String) {
    let text = ["name = \"x\"", "", "[roles]", "text = { fg = \"#fff\" }", "error = 1"].joined(separator: end)

    #expect(TOMLPlaces(text).line(of: ["name"]) == 1)
    #expect(TOMLPlaces(text).line(of: ["roles"]) == 3)
    #expect(TOMLPlaces(text).line(of: ["roles", "text", "fg"]) == 4)
    #expect(TOMLPlaces(text).line(of: ["roles", "error"]) == 5)
    let profiles = "[profiles.b]\(end)url = 1\(end)[profiles.\"a.c\"]\(end)url = 2"
    #expect(TOMLPlaces(profiles).line(of: ["profiles", "a.c", "url"]) == 4)
    let dim = "[roles]\(end)text = { dim = true, fg = 1 }\(end)dim = { fg = 1 }\(end)[roles.bold]\(end)bold = 1"
    #expect(TOMLPlaces(dim).line(of: ["roles", "dim", "fg"]) == 3)
    #expect(TOMLPlaces(dim).line(of: ["roles", "bold", "bold"]) == 5)
    let tables = "[roles.strong]\(end)dim = true\(end)fg = 1\(end)[roles.dim]\(end)fg = 2"
    #expect(TOMLPlaces(tables).line(of: ["roles", "dim", "fg"]) == 5)
    #expect(TOMLPlaces("a = 1\(end)roles.nope.fg = 1").line(of: ["roles", "nope"]) == 2)
    #expect(TOMLPlaces("\"a=b\" = 1\(end)a = 2").line(of: ["a"]) == 2)
    #expect(TOMLPlaces("x = \"read-only\"\(end)read-only = 1").line(of: ["read-only"]) == 2)
  }

  @Test(
    arguments: [
      ("theme = mine", 1, UnquotedText(key: "theme", text: "mine")),
      ("# one\r\n\r\ntheme=mine # two\r\n", 3, UnquotedText(key: "theme", text: "mine")),
      ("url = http://localhost:8080", 1, UnquotedText(key: "url", text: "http://localhost:8080")),
      ("stale-after = 10m", 1, UnquotedText(key: "stale-after", text: "10m")),
      ("profiles.live.store = ~/live.sqlite", 1, UnquotedText(key: "profiles.live.store", text: "~/live.sqlite")),
      ("[roles]\ntext = red\n", 2, UnquotedText(key: "text", text: "red")),
      ("text = { fg = \"ink\", bg = night, bold = true }", 1, UnquotedText(key: "bg", text: "night")),
      ("text = { fg = 1, bg = red }", 1, UnquotedText(key: "bg", text: "red")),
      ("ink = #d7dce2", 1, UnquotedText(key: "ink", text: "#d7dce2")),
      ("text = { fg = #d7dce2, bg = \"night\" }", 1, UnquotedText(key: "fg", text: "#d7dce2")),
      ("read-only = yes", 1, UnquotedText(key: "read-only", text: "yes")), ("port = 05", 1, nil),
      ("store = “a”", 1, UnquotedText(key: "store", text: "a")),
      // Other mistakes.
      ("theme = \"mine\"\npolicy = = 3", 2, nil), ("theme =", 1, nil), ("theme = # mine", 1, nil),
      ("theme = \"mine", 1, nil), ("theme = mine\"", 1, nil), ("theme = \"a\" b", 1, nil), ("the me = mine", 1, nil),
      ("read-only = true false", 1, nil),
      ("version = 1", 1, nil), ("[roles", 1, nil), ("store = C:\\a", 1, nil), ("", 1, nil), ("theme = mine", 2, nil),
      ("theme = mine", 0, nil),
    ] as [(String, Int, UnquotedText?)]
  )
  func `a text without quotes is distinguished from other mistakes`(text: String, line: Int, found: UnquotedText?) {
    #expect(UnquotedText(in: text, line: line) == found)
  }

  @Test(arguments: ["theme = mine", "ink = #d7dce2", "text = { fg = 1, bg = red }", "stale-after = 10m", "a = nano"])
  func `the parser rejects a text without quotes on its line`(line: String) {
    let fault = UnquotedText(in: line, line: 1).map(ThemeError.Fault.unquoted)

    #expect(mistakes("# A theme\n\n\(line)\n\n") == fault.map { [ThemeError.Mistake($0, line: 3)] })
  }

  @Test func `colours become the nearest that a terminal has`() {
    #expect(ColorDepth.direct.number(for: .rgb(0x12, 0x34, 0x56)) == 0x123456)
    #expect(ColorDepth.palette.number(for: .rgb(0, 95, 135)) == 24)
    #expect(ColorDepth.palette.number(for: .rgb(8, 8, 8)) == 232)
    #expect(ColorDepth.sixteen.number(for: .rgb(250, 10, 10)) == 9)
    #expect(ColorDepth.eight.number(for: .rgb(250, 250, 250)) == 7)
    #expect(ColorDepth.eight.number(for: .indexed(9)) == 1)
    #expect(ColorDepth.monochrome.number(for: .rgb(250, 250, 250)) == -1)
    #expect(ColorDepth.palette.number(for: .standard) == -1)
    #expect(ColorDepth(colors: 256) == .palette)
    #expect(ColorDepth(colors: 88) == .sixteen)
    #expect(ColorDepth(colors: 0) == .monochrome)
  }

  @Test(arguments: Theme.builtIn)
  func `without colours states still differ`(theme: Theme) {
    let palette = Palette(theme, depth: .monochrome)
    let states: [StyleRole] = [.ok, .pending, .warning, .error, .conflict]

    #expect(Set(states.map { palette[Style($0)].attributes }).count == states.count)
    #expect(palette[Style(.selection)].attributes != palette[.text].attributes)
    #expect(palette[Style(.selection)].attributes != palette[Style(.selectionUnfocused)].attributes)
    #expect(palette[Style(.borderFocused)].attributes != palette[Style(.border)].attributes)
    #expect(palette[Style(.titleFocused)].attributes != palette[Style(.title)].attributes)
    #expect(palette[Style(.badge, on: .banner)].attributes != palette[Style(.banner)].attributes)
    #expect(palette[Style(.text, on: .selectionUnfocused)].attributes != palette[.text].attributes)
  }
}

extension Theme {
  /// The contrast of text to its ground on such a terminal, by WCAG: 1 is none, 21 is black on white.
  ///
  /// Where the theme leaves a colour to the terminal, black and white are assumed, as its `background` says.
  fileprivate func contrast(of style: Style, depth: ColorDepth) -> Double {
    let entry = Palette(self, depth: depth)[style]
    let (black, white) = (RGB(0, 0, 0), RGB(255, 255, 255))
    let ground = depth.components(of: entry.background) ?? (background == .dark ? black : white)
    let text = depth.components(of: entry.foreground) ?? (background == .dark ? white : black)
    return text.contrast(to: ground)
  }
}
