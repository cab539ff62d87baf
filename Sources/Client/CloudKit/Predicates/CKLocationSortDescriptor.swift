public import Foundation

/// Sorts records by the distance between a location field and a fixed location, nearest first, for use in a `CKQuery`.
public final class CKLocationSortDescriptor: NSSortDescriptor, NSSecureCoding {
  /// The location from which distances are measured.
  public let relativeLocation: CLLocation
  let name: String

  /// Creates a sort descriptor for a location field.
  ///
  /// - Parameters:
  ///   - key: The name of the location field.
  ///   - relativeLocation: The location from which distances are measured.
  public init(key: String, relativeLocation: CLLocation) {
    name = key
    self.relativeLocation = relativeLocation
    let point = try? relativeLocation.wire(key: key)
    let distance = point.map { PredicateComparison.Operand.distance(field: key, from: $0) } ?? .null
    super.init(keyPath: \CKRecord.itself, ascending: true, comparator: distance.order)
  }

  /// Decodes an archived descriptor; nil if its field or location is missing.
  public convenience init?(coder: NSCoder) {
    guard let key = coder.string(forKey: ArchiveKey.key),
      let location = coder.object(CLLocation.self, forKey: ArchiveKey.relativeLocation)
    else { return nil }
    self.init(key: key, relativeLocation: location)
  }

  /// Archives the field name and the location.
  public func encode(with coder: NSCoder) {
    coder.encode(NSString(string: name), forKey: ArchiveKey.key)
    coder.encode(relativeLocation, forKey: ArchiveKey.relativeLocation)
  }

  /// Always true.
  public static var supportsSecureCoding: Bool { true }

  private enum ArchiveKey {
    static let key = "key"
    static let relativeLocation = "relativeLocation"
  }
}

extension NSSortDescriptor {
  /// Returns a `CKLocationSortDescriptor`.
  ///
  /// The compiler of Swift 6.3 crashes in a release build of another module that uses the class: it reads the class's
  /// method table and finds `key` both in Foundation and in this module.
  @_semantics("optimize.no.crossmodule")
  package static func distance(of key: String, from location: CLLocation) -> NSSortDescriptor {
    CKLocationSortDescriptor(key: key, relativeLocation: location)
  }
}
