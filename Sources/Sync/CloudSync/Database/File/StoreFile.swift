import Facts
import Foundation
import Glibc

/// Whether a store's file is there, as far as this user may see.
///
/// `FileManager` takes a file in a folder that the user may not enter for a missing one.
enum StoreFile: Hashable, Sendable {
  case present, missing
  /// The user may not read it. `place`: the file, or the folder that hides it; `owner`: the name of its owner, if
  /// known.
  case denied(place: String, owner: String?)
  /// The system knows neither case, and reports this error.
  case unknown(errno: Int32)

  /// The system's answer about a path.
  enum Look: Hashable, Sendable {
    case found(owner: String?, mayRead: Bool)
    case failed(errno: Int32)
  }

  /// - Parameter look: asks the system about a path.
  init(atPath path: String, look: (String) -> Look = Look.init(atPath:)) {
    switch look(path) {
    case .found(_, mayRead: true): self = .present
    case .found(let owner, mayRead: false): self = .denied(place: path, owner: owner)
    case .failed(ENOENT), .failed(ENOTDIR): self = .missing
    case .failed(EACCES), .failed(EPERM): self = .hidden(path, look)
    case .failed(let code): self = .unknown(errno: code)
    }
  }

  /// The lowest folder that the system shows is the one that may not be entered.
  private static func hidden(_ path: String, _ look: (String) -> Look) -> StoreFile {
    var folder = (path as NSString).deletingLastPathComponent
    while folder.count > 1 {
      if case .found(let owner, _) = look(folder) { return .denied(place: folder, owner: owner) }
      folder = (folder as NSString).deletingLastPathComponent
    }
    return .denied(place: "/", owner: nil)
  }

  /// Whether the file is there.
  ///
  /// - Parameters:
  ///   - path: the path of the store, for the message.
  ///   - user: the name of this user.
  /// - Throws: an error if the user may not see or read the file: then nothing is known about the store.
  func isPresent(_ path: String, user: String = NSUserName()) throws(StoreError) -> Bool {
    switch self {
    case .present: return true
    case .missing: return false
    case .denied(let place, let owner): throw .denied(path, place: place, owner: owner, user: user)
    case .unknown(let code):
      throw StoreError(
        .cannotOpen,
        "the store \(path.excerpt) cannot be read (\(String(cString: strerror(code)))); check its path"
      )
    }
  }
}

extension StoreFile.Look {
  init(atPath path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else {
      self = .failed(errno: errno)
      return
    }
    let owner = (try? FileManager.default.attributesOfItem(atPath: path))?[.ownerAccountName] as? String
    self = .found(owner: owner, mayRead: access(path, R_OK) == 0)
  }
}

extension StoreError {
  /// The error of a store that this user may not read.
  ///
  /// - Parameters:
  ///   - place: the file, or the folder that hides it.
  ///   - owner: the name of the owner of that; nil if unknown.
  static func denied(_ path: String, place: String, owner: String?, user: String) -> StoreError {
    let what = place == path ? "it" : "its folder \(place)"
    guard let owner, owner != user else {
      let remedy = "check the permissions of \(place)"
      return StoreError(.cannotOpen, "the store \(path) cannot be read by user \(user); \(remedy)")
    }
    return StoreError(
      .cannotOpen,
      "the store \(path) cannot be read by user \(user): \(what) belongs to \(owner); run as its owner, with sudo -u \(owner)"
    )
  }
}
