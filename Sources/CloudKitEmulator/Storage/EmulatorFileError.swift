import GRDB

/// Why a data file cannot be used.
public struct EmulatorFileError: Error, CustomStringConvertible {
  /// What is wrong with the file.
  public enum Reason: Sendable {
    /// Another emulator has it open.
    case inUse
    /// It is something else than an emulator's file.
    case foreign
    /// A newer version wrote it.
    case newer
    /// It is damaged.
    case damaged
    /// It, or its folder, cannot be opened or written.
    case inaccessible
    /// Something else, which the description tells.
    case other
  }

  /// What is wrong with the file.
  public let reason: Reason
  /// The same in words.
  public let description: String

  init(_ error: any Error) {
    switch error {
    case let error as DatabaseError: reason = Self.reason(error.resultCode)
    case FileSchema.Refusal.newer: reason = .newer
    case FileSchema.Refusal.notOurs: reason = .foreign
    case is FileStore.UnsafeFileSystem: reason = .inaccessible
    case is DamagedBytes, is JSONParser.Failure, is ServerError:
      // What a row says is read as a request is; how it fails would tell nobody more.
      (reason, description) = (.damaged, "The data file is damaged.")
      return
    default: reason = .other
    }
    description = "\(error)"
  }

  private static func reason(_ code: ResultCode) -> Reason {
    switch code {
    case .SQLITE_BUSY, .SQLITE_LOCKED: .inUse
    case .SQLITE_NOTADB: .foreign
    case .SQLITE_CORRUPT: .damaged
    case .SQLITE_CANTOPEN, .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_AUTH, .SQLITE_FULL, .SQLITE_IOERR: .inaccessible
    default: .other
    }
  }
}
