package import CloudKit
internal import Foundation

extension FieldContent {
  /// Whether a field encoded from a model has the same contents as another field.
  package static func isSame(_ made: (any CKRecordValue)?, _ other: (any CKRecordValue)?) -> Bool {
    switch (made as? NSObject, other as? NSObject) {
    case (nil, nil): true
    case (let left?, let right?): isSame(left, right)
    // An empty list on the server equals a missing value from the model.
    case (nil, let right?): (right as? NSArray)?.count == 0
    case (_?, nil): false
    }
  }

  private static func isSame(_ made: NSObject, _ other: NSObject) -> Bool {
    switch (made, other) {
    case (let made as CKAsset, let other as CKAsset): made.hasSameBytes(as: other)
    case (let made as CLLocation, let other as CLLocation): made.hasSameValues(as: other)
    case (let made as NSDate, let other as NSDate):
      Milliseconds.since1970(reference: made.timeIntervalSinceReferenceDate)
        == Milliseconds.since1970(reference: other.timeIntervalSinceReferenceDate)
    case (let made as NSArray, let other as NSArray):
      made.count == other.count
        && zip(made, other).allSatisfy { isSame($0 as? any CKRecordValue, $1 as? any CKRecordValue) }
    default: made.isEqual(other)
    }
  }
}

extension CKAsset {
  /// Whether saving this asset instead of another would change nothing on the server.
  fileprivate func hasSameBytes(as other: CKAsset) -> Bool {
    if self === other { return true }
    if let checksum = wire?.fileChecksum, let known = other.wire?.fileChecksum { return checksum == known }
    // If the other's file was edited in place, the server still has the old bytes.
    guard let file = localFile, let known = other.unchangedFile else { return false }
    let size = file.fileSize
    return size != nil && size == known.fileSize
      && FileManager.default.contentsEqual(atPath: file.path, andPath: known.path)
  }
}

extension URL {
  fileprivate var fileSize: Int? {
    (try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? Int
  }
}

extension CLLocation {
  /// Whether the server would store the same value for both.
  fileprivate func hasSameValues(as other: CLLocation) -> Bool {
    guard let values = try? wire(key: ""), let known = try? other.wire(key: "") else { return false }
    return values == known
  }
}
