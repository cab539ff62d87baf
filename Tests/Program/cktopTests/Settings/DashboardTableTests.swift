import Dashboard
import Facts
import Testing

@testable import cktop

/// The `[dashboard]` table of the configuration file.
struct DashboardTableTests {
  private func table(_ text: String) throws -> Preferences {
    try ConfigurationFile(text, path: "/c/config.toml").dashboard().preferences
  }

  @Test func `mouse, view and keys are read`() throws {
    let table = try table(
      """
      container = "iCloud.org.example.app"
      [dashboard]
      mouse = true
      view = "queue"
      ids = false
      [dashboard.keys]
      retry = "F5"
      theme = ["t", "T"]
      """
    )
    #expect(table.hasMouse && table.startView.rawValue == "queue" && !table.showsIDs)
    #expect(try table.keys == KeyMap(own: ["retry": ["F5"], "theme": ["t", "T"]]))
  }

  @Test(arguments: [
    ("[dashboard]\nmose = true", "did you mean mouse?"), ("[dashboard.keys]\nretyr = \"r\"", "did you mean retry?"),
  ])
  func `a mistyped key names the nearest`(_ text: String, _ remedy: String) {
    let failure = #expect(throws: CommandFailure.self) { try table(text) }

    #expect(failure?.message.hasSuffix(remedy) == true)
  }

  @Test func `without the table everything is as it was`() throws {
    #expect(try table("theme = \"paper\"").keys == .standard)
  }

  @Test(arguments: [
    ("dashboard = 1", "line 1: dashboard"), ("[dashboard]\nmouse = 1", "line 2: dashboard.mouse"),
    ("[dashboard]\nview = \"hall\"", "line 2: dashboard.view"), ("[dashboard]\nmice = true", "line 2: dashboard.mice"),
    ("[dashboard]\n[dashboard.keys]\nretry = 5", "line 3: dashboard.keys.retry"),
    ("[dashboard.keys]\n\nretry = \"d\"", "line 3: dashboard.keys.retry"),
    ("[dashboard.keys]\nretry = [\"r\", 1]", "line 2: dashboard.keys.retry"),
    ("[dashboard.keys]\nretreat = \"r\"", "line 2: dashboard.keys.retreat"),
  ])
  func `a mistake names file, line and key, and stops no other command`(_ text: String, _ place: String) throws {
    // An editor of Windows ends lines with CR LF, a mixture of editors does either.
    for text in [text, text.replacing("\n", with: "\r\n"), "# \r\n" + text] {
      let file = try ConfigurationFile(text, path: "/c/config.toml")
      let isShifted = text.hasPrefix("#")
      do {
        _ = try file.dashboard()
        Issue.record("The table should not have been taken.")
      } catch {
        let number = try #require(place.firstMatch(of: /\d+/).flatMap { Int($0.output) })
        let expected = isShifted ? place.replacing("line \(number)", with: "line \(number + 1)") : place
        #expect(error.message.hasPrefix("/c/config.toml \(expected)") && error.status == .usage)
      }
    }
  }
}
