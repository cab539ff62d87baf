import Foundation
import GRDB
import Glibc

/// Translating SQLite's errors.
extension StoreError {
  /// Translates a failure to open.
  init(opening path: String, _ error: any Error) {
    if let error = error as? StoreError {
      self = error
    } else if let error = error as? DatabaseError {
      self.init(path, error)
    } else {
      self =
        switch FileSystem(of: path)?.trouble {
        case .full: .diskIsFull
        case .readOnly: .readOnlyFileSystem(path)
        default:
          StoreError(
            .cannotOpen,
            "the store \(path) cannot be opened (\(Self.text(error))); check the path and its rights"
          )
        }
    }
  }

  /// The remedy for a damaged file.
  static let remedy = "restore a copy, or save what can be read of its queue with cktop queue salvage --into NEWFILE"

  /// Translates a failure of a transaction.
  init(using path: String, _ error: any Error, remedy: String = Self.remedy) {
    if let error = error as? StoreError {
      self = error
    } else if let error = error as? DatabaseError {
      self.init(path, error, remedy: remedy)
    } else if error is DecodingError || error is RowDecodingError {
      self.init(.damaged, "a row of the store \(path) cannot be read; restore a copy or move the file away")
    } else {
      self.init(.cannotOpen, "the store \(path) failed (\(Self.text(error))); check that it is a file on a sound disk")
    }
  }

  private init(_ path: String, _ error: DatabaseError, remedy: String = Self.remedy) {
    switch error.resultCode {
    case .SQLITE_NOTADB:
      self.init(.notAStore, "\(path) is not an SQLite file; choose another store with --store")
    case .SQLITE_CORRUPT:
      self.init(.damaged, "the store \(path) is damaged; \(remedy)")
    case .SQLITE_FULL: self = .diskIsFull
    case .SQLITE_CANTOPEN where FileSystem(of: path)?.trouble == .full: self = .diskIsFull
    case .SQLITE_READONLY where FileSystem(of: path)?.isReadOnly == true,
      .SQLITE_CANTOPEN where FileSystem(of: path)?.isReadOnly == true:
      self = .readOnlyFileSystem(path)
    case .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_CANTOPEN, .SQLITE_AUTH:
      self = .noAccess(path, owner: Self.owner(of: path), user: NSUserName())
    case .SQLITE_BUSY, .SQLITE_LOCKED:
      self.init(.cannotOpen, "the store \(path) is locked by another program; try again", isTransient: true)
    case .SQLITE_IOERR:
      self = .failingDisk(
        path,
        error.message ?? "input or output error",
        free: FileSystem(of: path)?.freeBytes,
        refusal: FileSystem.refusal(beside: path)
      )
    default:
      let what = error.message ?? error.resultCode.description
      self.init(.cannotOpen, "the store \(path) failed (\(what)); check that it is a file on a sound disk")
    }
  }

  /// The error of a store that this user may not open. SQLite writes two files beside a store even to read it, so
  /// permission to read the file alone is not enough.
  ///
  /// - Parameter owner: the name of the file's owner; nil if unknown.
  static func noAccess(_ path: String, owner: String?, user: String) -> StoreError {
    guard let owner, owner != user else {
      return StoreError(
        .cannotOpen,
        "the store \(path) cannot be opened: even reading it needs to write files beside it; "
          + "check the permissions of the file and its folder"
      )
    }
    return StoreError(
      .cannotOpen,
      "the store \(path) belongs to \(owner), and even reading it needs to write files beside it; "
        + "run cktop as its owner, with sudo -u \(owner)"
    )
  }

  /// The most bytes of a store's file name: file systems take 255, and SQLite makes files beside it whose names end in
  /// `-journal`.
  static let longestName = 247

  /// The error of a store beside which SQLite cannot make its files.
  static func nameTooLong(_ path: String) -> StoreError {
    StoreError(
      .cannotOpen,
      "the file name of the store \(path.excerpt) is too long for the files that SQLite makes beside it; "
        + "choose one of at most \(longestName) bytes with --store"
    )
  }

  private static func owner(of path: String) -> String? {
    (try? FileManager.default.attributesOfItem(atPath: path))?[.ownerAccountName] as? String
  }

  /// Translates a failed read or write. On a full disk SQLite cannot create its shared-memory file, and reports only an
  /// I/O error. It also reports one for a quota that is used up.
  ///
  /// - Parameters:
  ///   - free: the free bytes of the file system; nil if unknown.
  ///   - refusal: the error with which the system refuses a small file there; nil if it accepts one.
  static func failingDisk(_ path: String, _ what: String, free: UInt64?, refusal: Int32?) -> StoreError {
    if let free, free < FileSystem.leastFreeBytes { return diskIsFull }
    if refusal == ENOSPC || refusal == EDQUOT { return diskIsFull }
    let message = "the disk fails at the store \(path) (\(what)); see to it and try again, this was not stored"
    return StoreError(.cannotOpen, message, trouble: .failing)
  }

  static var diskIsFull: StoreError {
    StoreError(.diskFull, "the disk is full; free some space and try again, this was not stored", trouble: .full)
  }

  static func readOnlyFileSystem(_ path: String) -> StoreError {
    let remedy = "make it writable, this was not stored"
    return StoreError(.cannotOpen, "the file system of the store \(path) is read-only; \(remedy)", trouble: .readOnly)
  }

  /// The error of a file without content on a full disk.
  static func notMade(_ path: String) -> StoreError {
    let remedy = "free some space and run `cktop sync` once"
    return StoreError(.diskFull, "the store \(path) is empty: the disk is full; \(remedy)", trouble: .full)
  }

  private static func text(_ error: any Error) -> String {
    (error as NSError).localizedDescription
  }
}
