public import Foundation

/// Sorts records by how far a field of theirs is from a place, the nearest first. For use in a `CKQuery`.
public final class CKLocationSortDescriptor: NSSortDescriptor, NSSecureCoding {
  /// The place from which distances are measured.
  public let relativeLocation: CLLocation
  let name: String

  /// Makes a descriptor.
  ///
  /// - Parameters:
  ///   - key: The field, which holds places.
  ///   - relativeLocation: The place from which distances are measured.
  public init(key: String, relativeLocation: CLLocation) {
    name = key
    self.relativeLocation = relativeLocation
    super.init(
      keyPath: \CKRecord.itself,
      ascending: true,
      comparator: { one, other in
        func distance(_ record: Any) -> FieldValue? {
          guard let record = record as? CKRecord, case .location(let place)? = RecordValues(record).value(.field(key))
          else { return nil }
          return .double(CLLocation(wire: place).distance(from: relativeLocation))
        }
        return distance(one).compared(to: distance(other))
      }
    )
  }

  /// Reads an archived descriptor; nil where its field or place is missing.
  public convenience init?(coder: NSCoder) {
    guard let key = coder.string(forKey: ArchiveKey.key),
      let location = coder.object(CLLocation.self, forKey: ArchiveKey.relativeLocation)
    else { return nil }
    self.init(key: key, relativeLocation: location)
  }

  /// Archives the field and the place.
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
