import Foundation
import TestSupport
import Testing

/// Comments cite the protocol reference by number. These tests find its pages and all citations.
@Suite(.serialized) struct CitationTests {
  private static let reference = packageFile("Sources/Handbook/Protocol")

  @Test func `each number that a comment cites is a heading of the protocol reference`() throws {
    let headings = Set(try Self.headings())
    var count = 0
    for (file, comment) in try Self.comments(in: "Sources") {
      let cited = Self.citations(in: comment)
      #expect(headings.isSuperset(of: cited), "\(file): \(comment)")
      count += cited.count
    }
    #expect(count > 150)
  }

  @Test func `no heading of the protocol reference has the number of another`() throws {
    let headings = try Self.headings()
    let repeated = Dictionary(grouping: headings) { $0 }.filter { $0.value.count > 1 }.keys.sorted()

    #expect(repeated.isEmpty)
    #expect(headings.count > 80)
  }

  @Test func `comments cite numbers in one form`() throws {
    for (file, comment) in try Self.comments(in: "Sources") {
      let isBare = comment.contains(/\(\d\.\d+(, \d\.\d+)*\)/)
      let isWord = comment.contains(/\b[Rr]eference,? \d/) && !comment.contains(/\(reference \d/)
      let isSplit = comment.contains(/\((reference|Question)$/)
      #expect(!isBare && !isWord && !isSplit, "\(file): \(comment)")
    }
  }

  @Test func `each number on a page is a heading`() throws {
    let headings = Set(try Self.headings())
    for (name, text) in try Self.pages() {
      let sections = text.matches(of: /\((\d\.\d+(?:, \d\.\d+)*)[,)]/).flatMap { Self.numbers(String($0.1)) }
      #expect(headings.isSuperset(of: sections + Self.questions(in: text)), "\(name)")
    }
  }

  @Test func `each mark in a comment or on a page is explained`() throws {
    let pages = try Self.pages()
    let evidence = try #require(pages["Protocol-0-Evidence"])
    let marks = Set(evidence.matches(of: /\n\| `\[([^\]]+)\]` \|/).map { String($0.1) })
    try #require(marks.count == 9)
    for (file, comment) in try Self.comments(in: "Sources/Emulator/CloudKitEmulator") {
      let used = comment.matches(of: /\[([A-Z]+\d?|2nd)\]/).map { String($0.1) }
      #expect(marks.isSuperset(of: used), "\(file): \(comment)")
    }
    for (name, text) in pages {
      #expect(marks.isSuperset(of: text.matches(of: /`\[([^\]`]+)\]`/).map { String($0.1) }), "\(name)")
    }
  }

  @Test func `the page on open questions names the switch for each`() throws {
    let text = try #require(try Self.pages()["Protocol-8-OpenQuestions"])
    let code = try packageText("Sources/Emulator/CloudKitEmulator/Configuration/EmulatorAssumptions.swift")
    let switches = Set(code.matches(of: /public var (\w+)/).map { String($0.1) })

    #expect(switches.count > 30)
    #expect(Set(text.matches(of: /`EmulatorAssumptions\.(\w+)`/).map { String($0.1) }) == switches)
  }

  // MARK: - Pages and comments

  private static func pages() throws -> [String: String] {
    let files = try FileManager.default.contentsOfDirectory(at: reference, includingPropertiesForKeys: nil)
    var pages: [String: String] = [:]
    for file in files where file.pathExtension == "md" {
      pages[file.deletingPathExtension().lastPathComponent] = try String(contentsOf: file, encoding: .utf8)
    }
    return pages
  }

  /// Returns the numbers of all headings: `5` of a title, `5.10` and `Question 13` of a section.
  private static func headings() throws -> [String] {
    try pages().values.flatMap { text in
      text.split(separator: "\n").compactMap { line -> String? in
        let title = line.prefixMatch(of: /# Protocol (\d+):/)?.1
        let section = line.prefixMatch(of: /### (\d+\.\d+)\s/)?.1
        let question = line.prefixMatch(of: /### (Question \d+):/)?.1
        return (title ?? section ?? question).map { String($0) }
      }
    }
  }

  /// Returns the lines of comments in a folder, each with the name of its file.
  private static func comments(in folder: String) throws -> [(file: String, text: String)] {
    var comments: [(file: String, text: String)] = []
    for file in try swiftFiles(in: folder) {
      for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
        let text = line.trimmingCharacters(in: .whitespaces)
        if text.hasPrefix("//") { comments.append((file.lastPathComponent, text)) }
      }
    }
    return comments
  }

  private static func citations(in comment: String) -> [String] {
    comment.matches(of: /\(reference ([\d., ]+)\)/).flatMap { numbers(String($0.1)) } + questions(in: comment)
  }

  private static func questions(in text: String) -> [String] {
    text.matches(of: /Question \d+/).map { String($0.output) }
  }

  private static func numbers(_ list: String) -> [String] { list.components(separatedBy: ", ") }
}
