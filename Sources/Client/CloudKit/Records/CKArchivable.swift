public import Foundation

/// An object of CloudKit that can be archived securely.
public protocol CKArchivable: NSSecureCoding {}

extension CKArchivable {
  /// Always true.
  public static var supportsSecureCoding: Bool { true }
}

/// An object of CloudKit that is its own copy, because it never changes.
public protocol CKImmutable: NSCopying {}

extension CKImmutable {
  /// Returns the object itself.
  public func copy(with zone: NSZone? = nil) -> Any { self }
}

extension Hasher {
  /// Returns the hash value of two values together.
  static func hash(_ first: some Hashable, _ second: some Hashable) -> Int {
    var hasher = Hasher()
    hasher.combine(first)
    hasher.combine(second)
    return hasher.finalize()
  }
}
