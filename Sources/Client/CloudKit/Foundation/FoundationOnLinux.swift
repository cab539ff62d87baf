extension UserDefaults {
  /// Sets a value, or removes it if nil. Replaces key-value coding, which Linux does not have.
  public func setValue(_ value: Any?, forKey key: String) { set(value, forKey: key) }

  /// Returns the value for a key. Replaces key-value coding, which Linux does not have.
  public func value(forKey key: String) -> Any? { object(forKey: key) }

  /// Writes what any suite has not written yet, and returns whether that succeeded.
  ///
  /// Apple's systems write a value soon after it was set. Foundation on Linux writes in `synchronize()` only, which
  /// writes the values of all suites, whichever of them is asked.
  static func writeAll() -> Bool { standard.synchronize() }

  /// Writes all values when the process exits, which `main` does at its end. A signal that ends the process writes
  /// nothing.
  static let writesAtExit: Void = { _ = atexit { _ = UserDefaults.writeAll() } }()
}

extension FileManager {
  /// Returns the shared folder of an app group and creates it if needed.
  ///
  /// Linux has no app groups. The folder is `Group Containers/` and the group's name in `$XDG_DATA_HOME` (by default
  /// `~/.local/share`). Every program of the same user can access it.
  ///
  /// - Returns: The folder; nil if it cannot be created, or the identifier is not a valid folder name.
  public func containerURL(forSecurityApplicationGroupIdentifier groupIdentifier: String) -> URL? {
    guard !groupIdentifier.isEmpty, groupIdentifier != ".", groupIdentifier != "..",
      !groupIdentifier.contains("/"), !groupIdentifier.contains("\0")
    else { return nil }
    let environment = ProcessInfo.processInfo.environment
    let home = environment["HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? NSHomeDirectory()
    // The XDG standard requires that relative paths are ignored.
    let data = environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "\(home)/.local/share"
    let folder = URL(fileURLWithPath: data).appending(path: "Group Containers").appending(path: groupIdentifier)
    guard (try? createDirectory(at: folder, withIntermediateDirectories: true)) != nil else { return nil }
    return folder
  }
}

/// Runs a closure. Linux has no autorelease pools: objects are released as soon as nothing references them.
public func autoreleasepool<Result>(invoking body: () throws -> Result) rethrows -> Result { try body() }
