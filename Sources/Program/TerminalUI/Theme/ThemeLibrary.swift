package import Foundation

extension Theme {
  /// The files that are compiled in, by the names of their themes. A file is parsed only when its theme is used.
  private static let files: [(name: String, bytes: @Sendable () -> [UInt8])] = [
    ("console", { PackageResources.console_toml }), ("contrast", { PackageResources.contrast_toml }),
    ("dracula", { PackageResources.dracula_toml }), ("gruvbox", { PackageResources.gruvbox_toml }),
    ("midnight", { PackageResources.midnight_toml }), ("okabe", { PackageResources.okabe_toml }),
    ("paper", { PackageResources.paper_toml }), ("plain", { PackageResources.plain_toml }),
  ]

  /// The names of the themes that are compiled in.
  package static let builtInNames = files.map(\.name)

  /// The themes that are compiled in, by name.
  package static var builtIn: [Theme] { builtInNames.compactMap { try? load(named: $0, directories: []) } }

  /// Finds a theme: in the directories first, then among those compiled in.
  ///
  /// - Parameters:
  ///   - name: The theme's name; a file has the same name with `.toml`.
  ///   - directories: Where to look for files, most important first. They need not exist.
  package static func load(named name: String, directories: [URL]) throws(ThemeError) -> Theme {
    let file = try file(named: name, directories: directories)
    var theme = try parse(file.text, source: file.source)
    // It is found by the name of its file, whatever a copy of another theme says inside.
    theme.name = name
    return theme
  }

  /// Finds the text of a theme as `load(named:directories:)` does, and the file's name for messages.
  package static func file(named name: String, directories: [URL]) throws(ThemeError) -> (text: String, source: String)
  {
    if isFileName(name) {
      for directory in directories {
        let file = directory.appendingPathComponent(name + ".toml")
        var status = stat()
        // A theme in a folder that may not be entered is not a missing one.
        if stat(file.path, &status) != 0, [ENOENT, ENOTDIR, ENAMETOOLONG].contains(errno) { continue }
        return (try contents(of: file), file.path)
      }
    }
    if let file = files.first(where: { $0.name == name }) {
      return (String(decoding: file.bytes(), as: UTF8.self), "\(name).toml")
    }
    throw .unknown(name, known: names(directories: directories))
  }

  /// The names of every theme that `load(named:directories:)` can find, sorted.
  package static func names(directories: [URL]) -> [String] {
    let files = directories.flatMap { directory in
      (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
    }
    let own = files.filter { $0.hasSuffix(".toml") }.map { String($0.dropLast(5)) }
    return Set(own + builtInNames).sorted()
  }

  private static func contents(of file: URL) throws(ThemeError) -> String {
    do {
      return try String(contentsOf: file, encoding: .utf8)
    } catch {
      throw .unreadable(file: file.path, reason: error.localizedDescription)
    }
  }

  /// A name must not lead out of the directory.
  private static func isFileName(_ name: String) -> Bool {
    !name.isEmpty && !name.hasPrefix(".") && !name.contains("/") && !name.contains("\0")
  }
}
