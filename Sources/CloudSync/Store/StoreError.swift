import Foundation
import GRDB

/// Why the store cannot be used. The message says what happened and what to do.
public struct StoreError: Error, Hashable, Sendable {
  /// What kind of trouble it is.
  package enum Kind: Hashable, Sendable {
    case cannotOpen, notAStore, damaged, newer, otherScope, diskFull
    /// This process is no longer the driver: another one took over while it was stopped.
    case fenced
    /// The caller asked for something the data forbid.
    case invalid
  }

  package var kind: Kind
  /// Whether it may be over by itself: a full disk, a file that another program holds.
  private(set) var passes = false
  /// What happened and what to do, in one line.
  public var message: String

  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }

  /// What a failure to open means.
  init(opening path: String, _ error: any Error) {
    if let error = error as? StoreError {
      self = error
    } else if let error = error as? DatabaseError {
      self.init(path, error)
    } else {
      self.init(.cannotOpen, "the store \(path) cannot be opened (\(Self.text(error))); check the path and its rights")
    }
  }

  /// What a failure in use means.
  init(using path: String, _ error: any Error) {
    if let error = error as? DatabaseError {
      self.init(path, error)
    } else if error is DecodingError {
      self.init(.damaged, "a row of the store \(path) cannot be read; restore a copy or move the file away")
    } else {
      self.init(.cannotOpen, "the store \(path) failed (\(Self.text(error))); check that it is a file on a sound disk")
    }
  }

  private init(_ path: String, _ error: DatabaseError) {
    switch error.resultCode {
    case .SQLITE_NOTADB:
      self.init(.notAStore, "\(path) is not an SQLite file; choose another store with --store")
    case .SQLITE_CORRUPT:
      self.init(.damaged, "the store \(path) is damaged; restore a copy or move the file away")
    case .SQLITE_FULL:
      self.init(.diskFull, "the disk is full; free some space and try again, nothing was changed")
      passes = true
    case .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_CANTOPEN, .SQLITE_AUTH:
      self.init(.cannotOpen, "the store \(path) cannot be opened for writing; check the path and its rights")
    case .SQLITE_BUSY, .SQLITE_LOCKED:
      self.init(.cannotOpen, "the store \(path) is locked by another program; try again")
      passes = true
    default:
      let what = error.message ?? error.resultCode.description
      self.init(.cannotOpen, "the store \(path) failed (\(what)); check that it is a file on a sound disk")
    }
  }

  private static func text(_ error: any Error) -> String {
    (error as NSError).localizedDescription
  }
}

extension StoreError: CustomStringConvertible {
  /// The message.
  public var description: String { message }
}
