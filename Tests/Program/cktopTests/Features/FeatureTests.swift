import Foundation
import TestSupport
import Testing

/// Every promised feature with the test that shows it.
///
/// A line of `Features.tsv` has the feature's ID, its description, and a test as `Tests/…/File.swift: name of the
/// test`. Three features need a framework that exists on Apple's systems only: `not on Linux: reason`.
@Suite(.serialized) struct FeatureTests {
  private static let counts = [("M", 90), ("Y", 56), ("C", 38), ("X", 37), ("S", 60)]

  @Test func `the table lists each feature exactly once`() throws {
    let ids = Self.counts.flatMap { letter, count in (1...count).map { "\(letter)-\($0 < 10 ? "0" : "")\($0)" } }

    #expect(try Self.features().map(\.id) == ids)
  }

  @Test func `each feature has a test that exists, but three that Linux cannot have`() throws {
    var impossible: [String] = []
    for feature in try Self.features() {
      let parts = feature.proof.split(separator: ": ", maxSplits: 1).map(String.init)
      try #require(parts.count == 2, "\(feature.id)")
      if parts[0] == "not on Linux" {
        impossible.append(feature.id)
      } else {
        #expect(Self.tests(in: parts[0]).contains(parts[1]), "\(feature.id)")
      }
    }
    #expect(impossible == ["S-53", "S-54", "S-55"])
  }

  private static func features() throws -> [(id: String, proof: String)] {
    let text = try packageText("Tests/Program/cktopTests/Features/Features.tsv")
    return try text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
      let columns = line.split(separator: "\t").map(String.init)
      try #require(columns.count == 3, "\(line)")
      return (columns[0], columns[2])
    }
  }

  /// Returns the names of the tests in a file, none if there is no such file.
  private static func tests(in file: String) -> [String] {
    let text = (try? packageText(file)) ?? ""
    return text.components(separatedBy: "@Test").dropFirst().compactMap { test in
      test.components(separatedBy: "func `").dropFirst().first?.components(separatedBy: "`").first
    }
  }
}
