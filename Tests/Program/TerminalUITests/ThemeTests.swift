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
    #expect(throws: ThemeError.self) { try Theme.load(named: "nope", directories: []) }
    do {
      _ = try Theme.load(named: "nope", directories: [])
    } catch {
      #expect(error.description == "nope: no such theme; there are \(Theme.builtInNames.joined(separator: ", "))")
    }
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

  @Test(arguments: [
    (
      "name = \"x\"\nbackground = \"dark\"\n[roles]\ntext = { fg = \"#12\" }",
      "t.toml:4: roles.text.fg: must be a colour"
    ),
    ("name = \"x\"\nbackground = \"dark\"\n[roles]\nnope = { fg = 1 }", "t.toml:4: roles.nope: is not a role"),
    (
      "name = \"x\"\nbackground = \"dark\"\n[roles.text]\nblink = true", "t.toml:4: roles.text.blink: is not known here"
    ),
    ("name = \"x\"\nbackground = \"dark\"\n[roles.text]\nbold = 1", "t.toml:4: roles.text.bold: must be true or false"),
    ("name = \"x\"\nbackground = \"dim\"", "t.toml:2: background: must be \"dark\" or \"light\""),
    ("name = \"x\"\nversion = 2\nbackground = \"dark\"", "t.toml:2: version: is not a version"),
    ("background = \"dark\"", "t.toml: name: is missing"),
    ("name = \"\"\nbackground = \"dark\"", "t.toml:1: name: is missing"),
    ("name = \"x\nbackground = \"dark\"", "t.toml:1: "),
    ("name = \"x\"\nbackground = \"dark\"\n\0[roles", "t.toml:3: contains a NUL character"),
  ])
  func `an error names file, line and key`(text: String, message: String) {
    do {
      _ = try Theme.parse(text, source: "t.toml")
      Issue.record("The theme should not have been taken.")
    } catch {
      #expect(error.description.hasPrefix(message))
      #expect(!error.description.contains("\n"))
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

    #expect(TOMLPlace.line(of: ["name"], in: text) == 1)
    #expect(TOMLPlace.line(of: ["roles"], in: text) == 3)
    #expect(TOMLPlace.line(of: ["roles", "text", "fg"], in: text) == 4)
    #expect(TOMLPlace.line(of: ["roles", "error"], in: text) == 5)
    let profiles = "[profiles.b]\(end)url = 1\(end)[profiles.\"a.c\"]\(end)url = 2"
    #expect(TOMLPlace.line(of: ["profiles", "a.c", "url"], in: profiles) == 4)
    #expect(TOMLPlace.line(of: ["read-only"], in: "x = \"read-only\"\(end)read-only = 1") == 2)
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
