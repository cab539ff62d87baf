package import Facts
public import Foundation

/// Why the store cannot be used. The message says what happened and what to do.
public struct StoreError: LocalizedError, Hashable, Sendable {
  /// The category of an error.
  public enum Kind: Hashable, Sendable {
    /// The file cannot be opened or written.
    case cannotOpen
    /// The file is no store.
    case notAStore
    /// The file is damaged.
    case damaged
    /// Another version created the store.
    case otherVersion
    /// The store is that of another container, environment or database.
    case otherScope
    case diskFull
    /// The store, or what is queued in it, belongs to another user.
    case otherUser
    /// The store, or what is queued in it, belongs to a user, and no user is signed in.
    case noUser
    /// There is no store, and this access does not create one.
    case missing
    /// The file was deleted or replaced while it was open.
    case replaced
    /// The engine's settings differ from those in the store.
    case otherSettings
    /// Another process took over the lease while this one was stopped.
    case fenced
    /// The request is not possible in the current state of the data.
    case invalid
  }

  /// The error code of an operation whose row in the store is unreadable.
  static let unreadable = "UNREADABLE"
  /// The code in the log for a change by the app that the store does not accept.
  static let refused = "REFUSED"

  /// The category.
  public package(set) var kind: Kind
  /// Whether the error may be temporary: a full or failing disk, a file locked by another program, a volume that is not
  /// mounted.
  package private(set) var isTransient: Bool
  /// Why nothing can be written; nil where the disk is not the reason.
  package private(set) var trouble: StorageTrouble?
  /// The message in one line: what happened and what to do.
  public var message: String
  /// The message.
  public var errorDescription: String? { message }

  static func missing(_ path: String) -> StoreError {
    StoreError(.missing, "there is no store \(path); `cktop sync` or `cktop records put` makes it")
  }

  /// The error of a store that another version of the program made.
  static func otherVersion(_ path: String, schema: Int) -> StoreError {
    StoreError(
      .otherVersion,
      "the store \(path) was made by another version of cktop (schema \(schema), this one reads \(Schema.version)); "
        + "with that version retry or discard failed changes, resume paused ones, undo dropped ones that you need, and sync, "
        + "then delete the store and the files beside it, or choose another with --store"
    )
  }

  /// - Parameters:
  ///   - isGone: whether there is no file in its place.
  ///   - log: the file with changes that were not yet in the database file.
  static func replaced(_ file: String, isGone: Bool = false, log: String? = nil) -> StoreError {
    let remedy =
      isGone ? "put it back, or start again with a new one" : "start again to use the file that is there now"
    let rest = log.map { "; its latest changes are in \($0), which belongs beside the former file as its -wal" } ?? ""
    return StoreError(.replaced, "\(file) was deleted or replaced while it was open; \(remedy)\(rest)")
  }

  /// The file system of the store was unmounted while it was open.
  static func volumeLost(_ path: String) -> StoreError {
    let remedy = "mount it again, syncing then goes on by itself"
    return StoreError(
      .cannotOpen,
      "the file system of the store \(path) is no longer mounted; \(remedy)",
      isTransient: true
    )
  }

  /// The error of a file that is gone while its log is still there.
  static func deleted(_ path: String) -> StoreError {
    let remedy =
      "stop the process that uses it, then put the store back beside its log, or remove the log to start over"
    return StoreError(.replaced, "the store \(path) was deleted, but its log \(path)-wal is still there; \(remedy)")
  }

  /// The error of a store that is gone while `remains` is still beside it.
  static func lost(_ path: String, remains: String) -> StoreError {
    StoreError(
      .missing,
      "the store \(path) is gone, but \(remains) is still there; put a copy back, or remove that to start over"
    )
  }

  /// The error of a file without content that had some.
  static func emptied(_ path: String) -> StoreError {
    let remedy = "put a copy back, or remove \(StoreLock.path(path)) to start over"
    return StoreError(.damaged, "the store \(path) is empty, and it was not: \(remedy)")
  }

  static var tooManyOpenFiles: StoreError {
    let remedy = "close some or raise the limit with ulimit -n, and try again"
    return StoreError(.cannotOpen, "too many files are open, nothing was accepted; \(remedy)", isTransient: true)
  }

  package init(_ kind: Kind, _ message: String, isTransient: Bool = false, trouble: StorageTrouble? = nil) {
    self.kind = kind
    self.message = message
    self.isTransient = isTransient || trouble != nil
    self.trouble = trouble
  }
}

extension StoreError: CustomStringConvertible {
  /// The message.
  public var description: String { message }
}
