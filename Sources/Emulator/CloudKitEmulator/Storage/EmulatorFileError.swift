import GRDB
import JSONText

/// Thrown for rows that this code cannot have written.
struct DamagedRow: Error {}

/// The reason why a data file cannot be used.
public struct EmulatorFileError: Error, CustomStringConvertible {
  /// The kind of problem.
  public enum Reason: Sendable {
    /// Another emulator has the file open.
    case inUse
    /// The file, or a log beside it, was not written by an emulator. Neither is changed.
    case foreign
    /// The file was written by another version.
    case otherVersion
    /// The file is damaged.
    case damaged
    /// The file or its folder cannot be opened or written.
    case inaccessible
    /// Another problem; see the description.
    case other
  }

  /// The kind of problem.
  public let reason: Reason
  /// A description of the problem.
  public let description: String

  init(_ error: any Error) {
    switch error {
    case let error as DatabaseError: reason = Self.reason(error.resultCode)
    case FileSchema.Refusal.otherVersion: reason = .otherVersion
    case FileSchema.Refusal.notOurs, FileSchema.Refusal.foreignLog: reason = .foreign
    case is EmulatorStore.UnsafeFileSystem: reason = .inaccessible
    case is DamagedRow, is JSONError, is ServerError:
      // Rows are parsed like requests; details of the failure would not help.
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
