import Foundation
import TestSupport
import Testing

/// A real data set from end to end: Debian's iso-codes, some five thousand records that refer to each other.
@Suite(.serialized) struct RealInputTests {
  private static let source = "/usr/share/iso-codes/json/iso_3166-2.json"
  static let isInstalled = FileManager.default.fileExists(atPath: source)

  @Test(.enabled(if: isInstalled, "the package iso-codes is not installed"))
  func `the world's subdivisions go up in any order and come down complete`() async throws {
    let cloud = try await Cloud()
    let first = try Machine(cloud)
    try await Self.convert(into: first.folder.url)
    let subdivisions = try Self.backwards(first.folder.path("subdivisions.ndjson"))

    // Subdivisions before their countries, and children before their parents.
    let children = try await first.succeed(
      "records",
      "import",
      subdivisions,
      "--type",
      "Subdivision",
      "--id",
      "code",
      "--reference",
      "country=Country",
      "--reference",
      "parent=Subdivision",
      "--json"
    ).object()
    let parents = try await first.succeed(
      "records",
      "import",
      first.folder.path("countries.ndjson"),
      "--type",
      "Country",
      "--id",
      "alpha_2",
      "--json"
    ).object()
    let count = try #require(children["enqueued"] as? Int) + (try #require(parents["enqueued"] as? Int))
    let sync = try await first.succeed("sync", "--json").object()
    let second = try Machine(cloud)
    let fetched = try await second.succeed("sync", "--json").object()

    #expect(count > 5000)
    #expect(sync["sent"] as? Int == count)
    #expect(fetched["fetched"] as? Int == count)
    let items = try cloud.items(of: "records/modify")
    #expect(items.reduce(0, +) == count)
    #expect(items.max() == 200)
    // One that is not full may end each generation: countries, subdivisions, their subdivisions.
    #expect(items.count <= (count + 199) / 200 + 3)
    for machine in [first, second] {
      let zones = try await machine.succeed("verify", "--json").objects()
      let zone = try #require(zones.first { $0["zone"] as? String == "cktop" })
      #expect(zone["records"] as? Int == count)
    }
  }

  /// Runs the script that lies with the tests.
  private static func convert(into folder: URL) async throws {
    let script = packageFile("Tests/Program/RealInput/iso3166-to-ndjson.pl").path
    let process = try Child("perl", [script, folder.path], environment: ProcessInfo.processInfo.environment)
    try #require(await process.end() == .exited(0), "the script refused the data")
  }

  /// Turns the lines of a file around.
  private static func backwards(_ path: String) throws -> String {
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").reversed()
    try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: path))
    return path
  }
}
