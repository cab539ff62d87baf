import Foundation
import TestSupport
import Testing

/// The arrows between the rooms, held against the `import` lines. The compiler would let a target import what its
/// dependencies depend on.
@Suite(.serialized) struct WallTests {
  private static let system: Set<String> = [
    "Dispatch", "Foundation", "Glibc", "Observation", "Swift", "Synchronization",
  ]

  private static let arrows: [String: Set<String>] = [
    // `import CloudKit` in CloudKit is the Clang module of the same name, with empty submodules.
    "CloudKit": [
      "CloudKit", "CloudKitSchema", "CloudKitWebServices", "Crypto", "JSONText", "Logging", "OpenCombine",
      "SyncEngineRequirements",
    ],
    "CloudKitWebServices": [
      "AsyncHTTPClient", "CloudKitSchema", "Crypto", "JSONText", "Logging", "Metrics", "NIOCore", "NIOFoundationCompat",
      "NIOHTTP1", "NIOHTTPCompression", "NIOPosix",
    ],
    "CloudKitRecording": ["CloudKitWebServices"],
    "SyncEngineRequirements": [],
    "JSONText": [],
    "JSONFiles": ["JSONText"],
    "CloudKitEmulator": [
      "CloudKitSchema", "Crypto", "GRDB", "JSONText", "NIOCore", "NIOHTTP1", "NIOHTTPCompression", "NIOPosix",
    ],
    "CloudKitEmulatorTransport": ["CloudKit", "CloudKitEmulator", "NIOPosix"],
    "CloudKitSchema": [],
    "CloudKitContract": ["CloudKit", "JSONText"],
    "Shims/CombineShim": ["OpenCombine", "OpenCombineDispatch", "OpenCombineFoundation"],
    "Shims/CoreLocationShim": ["CloudKit"],
    "Shims/NetworkShim": [],
    "Shims/OSLogShim": ["OSShim"],
    "Shims/OSShim": ["Logging", "OSShim"],
    "Shims/SwiftUIShim": ["CombineShim"],
    "Shims/UniformTypeIdentifiersShim": [],
    "CloudKitModels": ["CloudKit", "CloudKitSchema", "Facts", "OpenCombine"],
    "CloudKitModelMacros": ["CloudKitMacros", "CloudKitModels"],
    "CloudKitMacros": ["CloudKitMacroExpansion", "SwiftCompilerPlugin", "SwiftSyntaxMacros"],
    "CloudKitMacroExpansion": [
      "CloudKitSchema", "Facts", "SwiftDiagnostics", "SwiftSyntax", "SwiftSyntaxBuilder", "SwiftSyntaxMacros",
    ],
    "CloudSyncModels": ["CloudKit", "CloudKitModels", "CloudService", "CloudSync", "OpenCombine"],
    "CloudSync": ["CloudKit", "CloudKitSchema", "Crypto", "Facts", "GRDB", "JSONText", "NetworkShim"],
    "RecordImport": ["CloudKit", "CloudSync", "Facts", "GRDB", "JSONText"],
    "Facts": [],
    "CloudService": ["CloudKit", "CloudSync", "Facts", "OpenCombine"],
    "TerminalUI": ["TOMLKit"],
    "Terminal": ["CNcurses", "TerminalUI"],
    "Dashboard": ["CloudKit", "CloudService", "CloudSync", "Facts", "Terminal", "TerminalUI"],
    "Doctor": ["CloudKit", "CloudKitContract", "CloudKitSchema", "CloudSync", "Facts", "NIOCore", "NIOPosix"],
    "CktopDemo": ["CloudKit", "CloudKitEmulator", "CloudSync"],
    "cktop": [
      "ArgumentParser", "CktopDemo", "CloudKit", "CloudKitContract", "CloudKitEmulator", "CloudKitSchema",
      "CloudService", "CloudSync", "Dashboard", "Doctor", "Facts", "JSONText", "NIOCore", "RecordImport",
      "TOMLKit", "Terminal", "TerminalUI",
    ],
  ]

  @Test(arguments: arrows.keys.sorted())
  func `a room imports only what its arrows allow`(room: String) throws {
    let allowed = try #require(Self.arrows[room]).union(Self.system)
    for (file, modules) in try Self.imports(of: room) {
      #expect(modules.subtracting(allowed).isEmpty, "\(room)/\(file)")
    }
  }

  /// The wings, and those that each may know. In Emulator only the transport knows the client, by its own arrows above.
  private static let wings: [String: Set<String>] = [
    "Base": [], "Client": ["Base"], "Emulator": ["Base", "Client"], "Sync": ["Base", "Client"],
    "Models": ["Base", "Client", "Sync"], "Program": ["Base", "Client", "Emulator", "Sync"],
  ]

  @Test func `a wing knows only the wings that it may know`() throws {
    let wings = try Dictionary(
      uniqueKeysWithValues: Self.arrows.keys.map { room in
        (String(room.split(separator: "/").last!), String(try sources(of: room).split(separator: "/")[1]))
      }
    )
    #expect(Set(wings.values) == Set(Self.wings.keys))
    for (room, known) in Self.arrows {
      let wing = wings[String(room.split(separator: "/").last!)]!
      let others = Set(known.compactMap { wings[$0] }).subtracting([wing])
      #expect(others.subtracting(Self.wings[wing]!).isEmpty, "\(room)")
    }
  }

  @Test(arguments: wings.keys.sorted())
  func `the page of a wing is short, and names each of its targets`(wing: String) throws {
    let page = try packageText("Sources/\(wing)/README.md")
    let rooms = try FileManager.default.contentsOfDirectory(atPath: packageFile("Sources/\(wing)").path)

    #expect(page.split(separator: "\n", omittingEmptySubsequences: false).count <= 41)
    for room in rooms where room != "README.md" { #expect(page.contains("`\(room)`"), "\(room)") }
  }

  @Test func `one file knows the terminal`() throws {
    let terminal = try Self.imports(of: "Terminal").filter { $0.value.contains("CNcurses") }.keys

    #expect(Set(terminal) == ["TerminalScreen.swift"])
  }

  /// Swift 6.3 passes no type metadata for a task-local value of a function type when it optimizes: the release product
  /// ended at the first one, while debug builds passed.
  @Test func `no task-local value is of a function type`() throws {
    let texts = try swiftFiles(in: "Sources").map { try String(contentsOf: $0, encoding: .utf8) }

    #expect(texts.count { $0.contains("@TaskLocal") } >= 4)
    #expect(Self.taskLocalFunctions(in: texts) == [])
  }

  @Test(arguments: [
    ("@TaskLocal static var report: ((Int) -> Void)?", ["report"]),
    ("@TaskLocal package static var report: @Sendable (Int64) async -> Void = { _ in }", ["report"]),
    ("@TaskLocal\n  static var report:\n    (Int) -> Void = { _ in }", ["report"]),
    ("@TaskLocal static var report = { (_: Int) in }", ["report"]),
    ("typealias Report = (Int) -> Void\n@TaskLocal static var report: Report?", ["report"]),
    ("@TaskLocal static var all: [A.Report] = []\ntypealias F = (Int) -> Void\ntypealias Report = F", ["all"]),
    ("typealias Report = [Int]\n@TaskLocal static var report: Report = []", []),
    ("@TaskLocal static var depth = 0\nlet body: (Int) -> Void", []),
    ("@TaskLocal static var report: Report?\nstruct Report { let body: (Int) -> Void }", []),
  ])
  func `a task-local value of a function type is found, also through a type alias`(_ text: String, _ names: [String]) {
    #expect(Self.taskLocalFunctions(in: [text]) == names)
  }

  /// The names of task-local values whose type has a function type in it.
  private static func taskLocalFunctions(in texts: [String]) -> [String] {
    var aliases: [String: String] = [:]
    for alias in texts.flatMap({ $0.matches(of: /typealias (\w+)[^=\n]*=\s*([^\n]+)/) }) {
      aliases[String(alias.1)] = String(alias.2)
    }
    func isFunction(_ type: Substring, _ seen: Set<String> = []) -> Bool {
      if type.contains("->") { return true }
      return type.matches(of: /\w+/).contains { word in
        let name = String(word.0)
        guard let meaning = aliases[name], !seen.contains(name) else { return false }
        return isFunction(meaning[...], seen.union([name]))
      }
    }
    let values = texts.flatMap { $0.matches(of: /@TaskLocal\s[^:=]*?var\s+(\w+)\s*(?::\s*([^={\n]+))?(=\s*\{)?/) }
    return values.filter { $0.3 != nil || isFunction($0.2 ?? "") }.map { String($0.1) }
  }

  private static func imports(of room: String) throws -> [String: Set<String>] {
    let kinds: Set<Substring> = ["class", "enum", "func", "protocol", "struct", "typealias", "var"]
    var imports: [String: Set<String>] = [:]
    for file in try swiftFiles(in: sources(of: room)) {
      let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
      let modules = lines.compactMap { line -> String? in
        let words = line.split(separator: " ")
        guard let keyword = words.firstIndex(of: "import"), keyword + 1 < words.count, !line.hasPrefix("//") else {
          return nil
        }
        let before = words[..<keyword]
        guard before.allSatisfy({ $0.hasPrefix("@") || $0 == "public" || $0 == "package" || $0 == "internal" }) else {
          return nil
        }
        // `import struct Module.Name` names the kind of a declaration before the module.
        let name = words[(keyword + 1)...].first { !kinds.contains($0) }
        return name.map { String($0.split(separator: ".")[0]) }
      }
      imports[file.lastPathComponent, default: []].formUnion(modules)
    }
    return imports
  }
}
