extension UserDefaults {
  /// Sets a value, or removes it with nil. There is no key-value coding on Linux: this method stands for it.
  public func setValue(_ value: Any?, forKey key: String) { set(value, forKey: key) }

  /// The value under a key. There is no key-value coding on Linux: this method stands for it.
  public func value(forKey key: String) -> Any? { object(forKey: key) }
}

extension FileManager {
  /// The folder that the programs of a group share, made if it is not there.
  ///
  /// Linux has no app groups: it is a folder of the group's name in `$XDG_DATA_HOME`, `~/.local/share` unless set, which
  /// every program of the same user may read.
  ///
  /// - Returns: The folder; nil where it cannot be made, or the name is none of a folder.
  public func containerURL(forSecurityApplicationGroupIdentifier groupIdentifier: String) -> URL? {
    guard !groupIdentifier.isEmpty, groupIdentifier != ".", groupIdentifier != "..",
      !groupIdentifier.contains("/"), !groupIdentifier.contains("\0")
    else { return nil }
    let home = ProcessInfo.processInfo.environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
    let data = home.map { URL(fileURLWithPath: $0) } ?? homeDirectoryForCurrentUser.appending(path: ".local/share")
    let folder = data.appending(path: "Group Containers").appending(path: groupIdentifier)
    guard (try? createDirectory(at: folder, withIntermediateDirectories: true)) != nil else { return nil }
    return folder
  }
}

/// Runs a closure. There are no autorelease pools on Linux: objects go when nobody holds them.
public func autoreleasepool<Result>(invoking body: () throws -> Result) rethrows -> Result { try body() }
