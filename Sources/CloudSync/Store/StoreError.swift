/// Why the store cannot be used. The message says what happened and what to do.
public struct StoreError: Error, Hashable, Sendable {
  /// What kind of trouble it is.
  package enum Kind: Hashable, Sendable {
    case cannotOpen, notAStore, damaged, newer, otherScope, diskFull
    /// The store, or what is queued in it, belongs to another user.
    case otherUser
    /// There is no store, and this access makes none.
    case missing
    /// An earlier version made the store, and this access does not migrate it.
    case older
    /// The file was deleted or replaced while it was open.
    case replaced
    /// The engine names settings that differ from those that the store keeps.
    case otherSettings
    /// This process is no longer the driver: another one took over while it was stopped.
    case fenced
    /// The caller asked for something the data forbid.
    case invalid
  }

  /// The error code of an operation that was found unreadable in the store: what it was to say is not known.
  static let unreadable = "UNREADABLE"

  package var kind: Kind
  /// Whether it may be over by itself: a full disk, one that fails, a file that another program holds.
  package private(set) var passes: Bool
  /// What happened and what to do, in one line.
  public var message: String

  static func missing(_ path: String) -> StoreError {
    StoreError(.missing, "there is no store \(path); `cktop sync` or `cktop records put` makes it")
  }

  /// - Parameter log: where changes are that were not in the file yet.
  static func replaced(_ file: String, log: String? = nil) -> StoreError {
    let remedy = "start again to use the file that is there now"
    let rest = log.map { "; its latest changes are in \($0), which belongs beside the former file as its -wal" } ?? ""
    return StoreError(.replaced, "\(file) was deleted or replaced while it was open; \(remedy)\(rest)")
  }

  static var tooManyOpenFiles: StoreError {
    let remedy = "close some or raise the limit with ulimit -n, and try again"
    return StoreError(.cannotOpen, "too many files are open, nothing was accepted; \(remedy)", passes: true)
  }

  package init(_ kind: Kind, _ message: String, passes: Bool = false) {
    self.kind = kind
    self.message = message
    self.passes = passes
  }
}

extension StoreError: CustomStringConvertible {
  /// The message.
  public var description: String { message }
}
