internal import Foundation

extension NSCoder {
  /// What archives of records and shares are made of.
  ///
  /// Every object is decoded with all of them allowed and then checked, since Foundation on Linux ends the process over a
  /// class that it knows and was not asked for, which one damaged byte can bring about.
  private static let archivable: [AnyClass] = [
    NSArray.self, NSData.self, NSDate.self, NSDictionary.self, NSNull.self, NSNumber.self, NSSet.self, NSString.self,
    NSURL.self, NSUUID.self, CKAsset.self, CKRecord.self, CKRecordID.self, CKRecordValueStore.self, CKRecordZone.self,
    CKRecordZoneID.self, CKReference.self, CKServerChangeToken.self, CKShareParticipant.self, CKUserIdentity.self,
    CKUserIdentityLookupInfo.self, CLLocation.self,
  ]

  /// How deep one object lies inside others. A damaged archive may hold one that contains itself.
  @TaskLocal private static var depth = 0

  /// Decodes an object that may be absent, or be another thing than it should.
  func object<Object: NSObject & NSCoding>(_ type: Object.Type, forKey key: String) -> Object? {
    object(of: Self.archivable + [type], forKey: key) as? Object
  }

  /// Decodes the object of a field.
  func fieldObject(forKey key: String) -> NSObject? { object(of: Self.archivable, forKey: key) as? NSObject }

  private func object(of classes: [AnyClass], forKey key: String) -> Any? {
    // Foundation on Linux ends the process when asked for an absent key.
    guard Self.depth < 16, containsValue(forKey: key) else { return nil }
    return Self.$depth.withValue(Self.depth + 1) { decodeObject(of: classes, forKey: key) }
  }

  /// Decodes a text that may be absent.
  func string(forKey key: String) -> String? { object(NSString.self, forKey: key).map { String(describing: $0) } }
}

extension NSKeyedUnarchiver {
  /// Makes damage an error of the unarchiver's, as it is on Apple's systems, instead of the end of the process.
  ///
  /// That can be said before the first object is decoded; afterwards saying it ends the process too, and nothing public
  /// tells. So the unarchiver is looked into, and left alone where it cannot be read.
  func returnErrors() {
    guard decodingFailurePolicy != .setErrorAndReturn,
      let flags = Mirror(reflecting: self).children.first(where: { $0.label == "_flags" })?.value,
      let bits = (flags as? any RawRepresentable)?.rawValue as? UInt, bits & Self.startedDecoding == 0
    else { return }
    decodingFailurePolicy = .setErrorAndReturn
  }

  private static let startedDecoding: UInt = 1 << 2
}
