import CloudSync
import Facts
import Foundation
import Glibc

/// The limits of this machine, the terminal, and the versions of what runs here.
package struct MachineObservation: Sendable {
  /// Open files of a process, and the number that it may have.
  struct Files: Hashable, Sendable {
    var open: Int?
    var limit: Int?
  }

  /// The watches with which a process notices the writes of others.
  enum Watches: Hashable, Sendable {
    case available(perUser: Int?)
    /// The error of the system.
    case refused(errno: Int32)
  }

  /// The terminal.
  package struct Screen: Hashable, Sendable {
    package var term: String
    package var columns: Int
    package var rows: Int
    /// Why the dashboard cannot start, and what to do; nil if it can.
    package var problem: String?
    package var isUTF8: Bool
    package var colors: Int
    /// Whether the user asked for no colours.
    package var isMonochrome: Bool

    package init(
      term: String,
      columns: Int,
      rows: Int,
      problem: String? = nil,
      isUTF8: Bool = true,
      colors: Int = 256,
      isMonochrome: Bool = false
    ) {
      (self.term, self.columns, self.rows, self.problem) = (term, columns, rows, problem)
      (self.isUTF8, self.colors, self.isMonochrome) = (isUTF8, colors, isMonochrome)
    }
  }

  var own = Files()
  /// Those of the process that syncs the store; nil without one.
  var syncing: Files?
  var watches = Watches.available(perUser: nil)
  /// Nil if input or output is not a terminal.
  var screen: Screen?
  /// The programs, libraries and systems with their versions.
  var versions: [String] = []
}

extension MachineObservation {
  /// The smallest terminal that shows the dashboard in full.
  private static let smallest = (columns: 80, rows: 24)

  package var findings: [Finding] { files + [watching, terminal, versioned] }

  private var files: [Finding] {
    func text(_ who: String, _ files: Files) -> String {
      let limit = files.limit.map { "limit \(Format.number($0))" } ?? "no limit"
      return
        "\(who) has \(files.open.map { Words.count($0, "open file") } ?? "an unknown number of open files"), \(limit)"
    }
    guard let syncing, let open = syncing.open, let limit = syncing.limit, open * 5 > limit * 4 else {
      return [.ok(.files, text("this process", own))]
    }
    let remedy = "raise the limit, with LimitNOFILE= in its unit or ulimit -n"
    return [.warning(.files, text("the syncing process", syncing), "beyond its limit it can open nothing", remedy)]
  }

  private var watching: Finding {
    switch watches {
    case .available(let count):
      return .ok(.watches, "inotify watches are available\(count.map { ", \(Format.number($0)) for a user" } ?? "")")
    case .refused(let code):
      let setting = code == ENOSPC ? "fs.inotify.max_user_watches" : "fs.inotify.max_user_instances"
      return .warning(
        .watches,
        "inotify gives no watch (\(String(cString: strerror(code))))",
        "cktop looks every second for what other processes write",
        "raise \(setting) with sysctl"
      )
    }
  }

  private var terminal: Finding {
    guard let screen else { return .notTried(.terminal, "input or output is not a terminal") }
    if let problem = screen.problem { return .warning(.terminal, problem) }
    var missing: [(text: String, remedy: String)] = []
    if !screen.isUTF8 { missing.append(("the locale is not UTF-8", "set LC_ALL=C.UTF-8")) }
    if screen.columns < Self.smallest.columns || screen.rows < Self.smallest.rows {
      missing.append(("it has less than 80 columns and 24 rows", "make it larger"))
    }
    if screen.colors < 8, !screen.isMonochrome { missing.append(("it has no colours", "set TERM to xterm-256color")) }
    let colors = screen.isMonochrome ? "no colours by NO_COLOR" : "\(Format.number(screen.colors)) colours"
    let text = "TERM is \(screen.term), \(screen.columns) columns and \(screen.rows) rows, \(colors)"
    guard !missing.isEmpty else { return .ok(.terminal, "\(text), UTF-8") }
    let remedies = missing.map(\.remedy).joined(separator: ", ")
    return .warning(.terminal, text, missing.map(\.text).joined(separator: ", "), remedies)
  }

  private var versioned: Finding {
    .ok(.versions, "this is \(versions.joined(separator: ", "))")
  }
}

extension MachineObservation {
  /// Looks at this machine.
  ///
  /// - Parameters:
  ///   - holder: the process that syncs the store; nil if there is none here.
  ///   - screen: the terminal; nil if there is none.
  ///   - libraries: the versions of what the program is made of, beside Swift and SQLite.
  package init(of holder: ProcessFacts?, screen: Screen?, libraries: [String]) {
    let this = ProcessFacts(of: Int64(getpid()))
    own = Files(open: this?.openFiles, limit: this?.fileLimit)
    syncing = holder.map { Files(open: $0.openFiles, limit: $0.fileLimit) }
    watches = Self.watch()
    self.screen = screen
    versions =
      ["cktop \(Words.version)", "Swift \(Self.swift)", "SQLite \(SyncStore.sqliteVersion ?? "of unknown version")"]
      + libraries + [Self.system]
  }

  /// Asks for a watch and gives it back.
  private static func watch() -> Watches {
    let descriptor = inotify_init1(Int32(IN_CLOEXEC))
    guard descriptor >= 0 else { return .refused(errno: errno) }
    defer { close(descriptor) }
    guard inotify_add_watch(descriptor, "/", UInt32(IN_ATTRIB)) >= 0 else { return .refused(errno: errno) }
    let text = try? String(contentsOfFile: "/proc/sys/fs/inotify/max_user_watches", encoding: .utf8)
    return .available(perUser: text.flatMap { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) })
  }

  /// The version of the compiler; the library of the language has none to ask for.
  private static var swift: String {
    #if compiler(>=6.4)
      "6.4 or later"
    #elseif compiler(>=6.3)
      "6.3"
    #else
      "before 6.3"
    #endif
  }

  /// The name of the system and its kernel.
  private static var system: String {
    let release = try? String(contentsOfFile: "/etc/os-release", encoding: .utf8)
    let name = release?.split(separator: "\n").first { $0.hasPrefix("PRETTY_NAME=") }?.dropFirst(12)
    var kernel = utsname()
    uname(&kernel)
    let number = withUnsafeBytes(of: kernel.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    return "\(name.map { $0.filter { $0 != "\"" } } ?? "Linux"), kernel \(number)"
  }
}
