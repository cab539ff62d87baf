import Foundation
import Testing

/// The arrows between the rooms, held against the `import` lines. The compiler would let a target import what its
/// dependencies depend on.
@Suite(.serialized) struct WallTests {
  private static let system: Set<String> = [
    "Darwin", "Dispatch", "Foundation", "Glibc", "Musl", "Observation", "Swift", "Synchronization",
  ]

  private static let arrows: [String: Set<String>] = [
    // `import CloudKit` in CloudKit is the Clang module of the same name, with empty submodules.
    "CloudKit": [
      "AsyncHTTPClient", "CloudKit", "Crypto", "JSONText", "Logging", "Metrics", "NIOCore", "NIOFoundationCompat",
      "NIOHTTP1", "NIOHTTPCompression", "NIOPosix", "OpenCombine", "SyncEngineRequirements",
    ],
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
    "Shims/UniformTypeIdentifiersShim": [],
    "CloudKitModels": ["CloudKit", "CloudKitSchema", "Facts", "OpenCombine"],
    "CloudKitModelMacros": ["CloudKitMacros", "CloudKitModels"],
    "CloudKitMacros": ["CloudKitMacroExpansion", "SwiftCompilerPlugin", "SwiftSyntaxMacros"],
    "CloudKitMacroExpansion": ["SwiftDiagnostics", "SwiftSyntax", "SwiftSyntaxBuilder", "SwiftSyntaxMacros"],
    "CloudSyncModels": ["CloudKit", "CloudKitModels", "CloudSync"],
    "CloudSync": ["CloudKit", "CloudKitSchema", "Crypto", "Facts", "GRDB", "JSONText", "NetworkShim"],
    "RecordImport": ["CloudKit", "CloudSync", "Facts", "GRDB", "JSONText"],
    "Facts": [],
    "CloudService": ["CloudKit", "CloudSync", "Facts", "OpenCombine"],
    "TerminalUI": ["TOMLKit"],
    "Terminal": ["CNcurses", "TerminalUI"],
    "Dashboard": ["CloudKit", "CloudService", "CloudSync", "Facts", "Terminal", "TerminalUI"],
    "CktopDemo": ["CloudKit", "CloudKitEmulator", "CloudSync"],
    "cktop": [
      "ArgumentParser", "CktopDemo", "CloudKit", "CloudKitContract", "CloudKitEmulator", "CloudKitSchema",
      "CloudService", "CloudSync", "Crypto", "Dashboard", "Facts", "JSONText", "RecordImport", "TOMLKit", "Terminal",
      "TerminalUI",
    ],
  ]

  @Test(arguments: arrows.keys.sorted())
  func `a room imports only what its arrows allow`(room: String) throws {
    let allowed = try #require(Self.arrows[room]).union(Self.system)
    for (file, modules) in try Self.imports(of: room) {
      #expect(modules.subtracting(allowed).isEmpty, "\(room)/\(file)")
    }
  }

  @Test func `one file knows the terminal`() throws {
    let terminal = try Self.imports(of: "Terminal").filter { $0.value.contains("CNcurses") }.keys

    #expect(Set(terminal) == ["TerminalScreen.swift"])
  }

  private static func imports(of room: String) throws -> [String: Set<String>] {
    let top = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let folder = top.appending(path: "Sources").appending(path: room)
    let files =
      FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL } ?? []
    try #require(!files.isEmpty)
    let kinds: Set<Substring> = ["class", "enum", "func", "protocol", "struct", "typealias", "var"]
    var imports: [String: Set<String>] = [:]
    for file in files where file.pathExtension == "swift" {
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
