import Foundation
import TestSupport
import Testing

/// The README and the handbook, as a person reads them where the code is hosted.
struct HandbookTests {
  private static let folder = "Sources/Handbook"
  private static let index = "\(folder)/README.md"

  @Test func `every relative link leads to a file, and every anchor to a heading of it`() throws {
    var count = 0
    for page in try Self.all() {
      for link in try Self.links(of: page) {
        count += 1
        let file = packageFile(link.path)
        #expect(FileManager.default.fileExists(atPath: file.path), "\(page): \(link.path)")
        guard let anchor = link.anchor else { continue }
        #expect(try Self.anchors(of: link.path).contains(anchor), "\(page): \(link.path)#\(anchor)")
      }
    }
    #expect(count > 100)
  }

  @Test func `the index leads to every page`() throws {
    let listed = Set(try Self.links(of: Self.index).map(\.path))

    #expect(Set(try Self.pages()).subtracting(listed) == [Self.index])
  }

  @Test func `no page has a link that only DocC follows`() throws {
    for page in try Self.all() {
      let text = try packageText(page)
      #expect(!text.contains("<doc:"), "\(page)")
      #expect(!text.contains(/(^|[^`])``[A-Za-z]/), "\(page)")
    }
  }

  @Test func `every page and folder that the sources name is in the handbook`() throws {
    var named: Set<String> = []
    for path in try FileManager.default.subpathsOfDirectory(atPath: packageFile("Sources").path)
    where path.hasSuffix(".swift") || path.contains(".docc/") && path.hasSuffix(".md") {
      let text = try packageText("Sources/\(path)")
      named.formUnion(text.matches(of: /`(Handbook\/[\w\/.-]+)`/).map { String($0.1) })
    }

    #expect(named.count > 10)
    for path in named {
      #expect(FileManager.default.fileExists(atPath: packageFile("Sources/\(path)").path), "\(path)")
    }
  }

  @Test func `every name in the walks and recipes for contributors is declared in the sources`() throws {
    let page = try packageText("\(Self.folder)/Contributing.md")
    let names = Set(page.matches(of: /`([A-Z]\w*[a-z]\w*(?:\.\w+)*)`/).map { String($0.1) })
    let declarations = try Declarations(in: ["Sources", "Tests"])
    let modules = try Set(packageText("Package.swift").matches(of: /name: "(\w+)"/).map { String($0.1) })

    #expect(names.count > 90)
    let unknown = names.subtracting(modules).filter { !declarations.have($0) }
    #expect(unknown == [])
  }

  // MARK: - Pages

  /// README, the pages of the wings and those of the handbook.
  private static func all() throws -> [String] {
    let folders = try FileManager.default.contentsOfDirectory(atPath: packageFile("Sources").path).sorted()
    return try ["README.md"] + folders.map { "Sources/\($0)/README.md" }.filter { $0 != index } + pages()
  }

  private static func pages() throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: packageFile(folder).path).filter { $0.hasSuffix(".md") }
      .sorted()
      .map { "\(folder)/\($0)" }
  }

  /// The relative links of a page, with the paths of their files in the package.
  private static func links(of page: String) throws -> [(path: String, anchor: String?)] {
    let folder = page.split(separator: "/").dropLast().map { String($0) }
    return try prose(of: page).matches(of: /\]\(([^)\s]+)\)/).map { String($0.1) }
      .filter { !$0.hasPrefix("https://") && !$0.hasPrefix("http://") }
      .map { link in
        let parts = link.split(separator: "#", omittingEmptySubsequences: false).map { String($0) }
        var path = folder
        for step in parts[0].split(separator: "/") {
          if step == ".." { path.removeLast() } else { path.append(String(step)) }
        }
        return (parts[0].isEmpty ? page : path.joined(separator: "/"), parts.count > 1 ? parts[1] : nil)
      }
  }

  /// The anchors that a host makes of the headings of a page.
  private static func anchors(of page: String) throws -> Set<String> {
    var anchors: Set<String> = []
    for line in try prose(of: page, code: true).split(separator: "\n") {
      guard let title = line.prefixMatch(of: /#{1,6} (.*)/)?.1 else { continue }
      let kept = title.lowercased().filter { $0.isLetter || $0.isNumber || " -_".contains($0) }
      let anchor = kept.replacing(" ", with: "-")
      let repeated = (1...).lazy.map { "\(anchor)-\($0)" }.first { !anchors.contains($0) }
      anchors.insert(anchors.contains(anchor) ? repeated ?? anchor : anchor)
    }
    return anchors
  }

  /// The lines of a page outside of blocks of code, without code in lines unless it is wanted.
  private static func prose(of page: String, code: Bool = false) throws -> String {
    var isFenced = false
    var lines: [Substring] = []
    for line in try packageText(page).split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```") {
        isFenced.toggle()
      } else if !isFenced && !line.hasPrefix("    ") {
        lines.append(line)
      }
    }
    let prose = lines.joined(separator: "\n")
    return code ? prose : prose.replacing(/`[^`\n]*`/, with: "")
  }
}

/// The types of folders of code, and what is declared inside of each.
private struct Declarations {
  private var members: [String: Set<String>] = [:]
  private static let types: Set<String> = [
    "struct", "class", "enum", "actor", "protocol", "extension", "typealias",
  ]
  private static let values: Set<String> = ["func", "var", "let", "case"]

  init(in folders: [String]) throws {
    for file in try folders.flatMap(swiftFiles) { add(try String(contentsOf: file, encoding: .utf8)) }
  }

  /// Whether there is a type such as `App`, or a member such as `App.update` or `CKSchema.FieldType`.
  func have(_ name: String) -> Bool {
    let parts = name.split(separator: ".").map { String($0) }
    guard parts.count > 1 else { return members[name] != nil }
    return (1..<parts.count).contains { count in
      members[parts.prefix(count).joined(separator: ".")]?.isSuperset(of: parts.dropFirst(count)) ?? false
    }
  }

  private mutating func add(_ code: String) {
    var type: String?
    for line in code.utf8.split(separator: UInt8(ascii: "\n")) {
      let isInside = line.first == UInt8(ascii: " ")
      let words = line.split(whereSeparator: { !Self.isPart($0) }).map { String(decoding: $0, as: UTF8.self) }
      guard let place = words.firstIndex(where: { Self.types.contains($0) || Self.values.contains($0) }),
        place + 1 < words.count
      else { continue }
      // The pattern of a switch declares nothing.
      if words[place] == "case", words[place + 1].hasPrefix(".") || words[place + 1] == "let" { continue }
      let declared = words[place] == "case" ? words[(place + 1)...] : words[(place + 1)...(place + 1)]
      let isType = Self.types.contains(words[place])
      if isType { members[words[place + 1], default: []].formUnion([]) }
      if !isInside { type = isType ? words[place + 1] : nil }
      if isInside, let type { members[type, default: []].formUnion(declared) }
    }
  }

  /// Whether a byte belongs to a name, or to one with dots.
  private static func isPart(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "_"), UInt8(ascii: "."):
      true
    default: false
    }
  }
}
