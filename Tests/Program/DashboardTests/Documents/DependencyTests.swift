import Foundation
import TestSupport
import Testing

/// The versions of dependencies that the documentation names. `RECORD_SNAPSHOTS=1` writes those that were resolved.
struct DependencyTests {
  private struct Resolved: Decodable {
    struct Pin: Decodable {
      struct State: Decodable {
        var version: String?
      }

      var location: String
      var state: State
    }

    var pins: [Pin]
  }

  private static let page = "Sources/Handbook/Client/Libraries.md"
  private static let resolved = "Package.resolved"

  private static func isSet(_ name: String) -> Bool { ProcessInfo.processInfo.environment[name] != nil }

  /// A user may have newer versions than those that were tested.
  @Test(.enabled(if: isSet("CKTOP_STRICT") || isSet("RECORD_SNAPSHOTS"), "only where the versions are to be the same"))
  func `the documented versions are those that were resolved`() throws {
    let resolved = try JSONDecoder().decode(Resolved.self, from: Data(contentsOf: packageFile(Self.resolved)))
    let rows = try resolved.pins.map { pin in
      let version = try #require(pin.state.version, "\(pin.location)")
      let name = pin.location.split(separator: "/").suffix(2).joined(separator: "/")
      return "| \(name.hasSuffix(".git") ? String(name.dropLast(4)) : name) | \(version) |\n"
    }
    let page = try packageText(Self.page)
    let head = try #require(page.range(of: "<!-- versions -->\n"))
    let tail = try #require(page.range(of: "<!-- end of versions -->"))
    let table = "| Package | Version |\n|---|---|\n" + rows.sorted { $0.lowercased() < $1.lowercased() }.joined()
    try expectFile(Self.page, page[..<head.upperBound] + table + page[tail.lowerBound...])
  }

  @Test func `each dependency of the package is documented with a version of its own`() throws {
    let manifest = try packageText("Package.swift")
    let page = try packageText(Self.page)
    let named = manifest.matches(of: /\.package\(url: "https:\/\/[^\/"]+\/([^"]+)"/).map { String($0.1) }

    #expect(!named.isEmpty)
    for name in named { #expect(page.contains("| \(name) | "), "\(name)") }
  }
}
