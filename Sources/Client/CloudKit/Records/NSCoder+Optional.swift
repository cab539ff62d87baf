internal import Foundation
import JSONText

extension NSCoder {
  /// The classes in archives of records and shares.
  ///
  /// Every object is decoded with all of them allowed and is then checked. Foundation on Linux terminates the process
  /// if it meets a known class that was not requested, which one damaged byte can cause.
  static let archivable: [AnyClass] = [
    NSArray.self, NSData.self, NSDate.self, NSDictionary.self, NSNull.self, NSNumber.self, NSSet.self, NSString.self,
    NSURL.self, NSUUID.self, CKAllowedSharingOptions.self, CKAsset.self, CKNotificationInfo.self, CKOperationGroup.self,
    CKQuery.self, CKQueryCursor.self, CKRecord.self, CKRecordID.self, CKRecordValueStore.self, CKRecordZone.self,
    CKRecordZoneID.self, CKReference.self, CKServerChangeToken.self, CKShareMetadata.self, CKShareParticipant.self,
    CKSubscription.self, CKUserIdentity.self, CKUserIdentityLookupInfo.self, CLLocation.self,
  ]

  /// The classes of Foundation whose contents are checked. Others that inherit from them are decoded otherwise.
  private static let foundation: [AnyClass] = [
    NSArray.self, NSMutableArray.self, NSData.self, NSMutableData.self, NSDate.self, NSDictionary.self,
    NSMutableDictionary.self, NSNull.self, NSNumber.self, NSSet.self, NSMutableSet.self, NSString.self,
    NSMutableString.self, NSURL.self, NSUUID.self,
  ]

  /// Whether objects of a class can be in an archive of a record or a share.
  static func isArchivable(_ type: AnyClass) -> Bool { foundation.contains { $0 == type } || isOwn(type) }

  /// Whether a class is CloudKit's own, or inherits from one.
  static func isOwn(_ type: AnyClass) -> Bool {
    func inherits<Base: AnyObject>(_ base: Base.Type) -> Bool { type is Base.Type }
    return archivable.contains { base in !foundation.contains { $0 == base } && inherits(base) }
  }

  /// The nesting depth of the current object. A damaged archive may have an object that contains itself.
  @TaskLocal private static var depth = 0

  /// Decodes an object; nil if it is absent or has another type.
  func object<Object: NSObject & NSCoding>(_ type: Object.Type, forKey key: String) -> Object? {
    object(of: Self.archivable + [type], forKey: key) as? Object
  }

  /// Decodes the value of a field.
  func fieldObject(forKey key: String) -> NSObject? { archivedObject(forKey: key) as? NSObject }

  /// Decodes an object of any class that can be in an archive of a record or a share; nil if it is absent.
  func archivedObject(forKey key: String) -> Any? { object(of: Self.archivable, forKey: key) }

  private func object(of classes: [AnyClass], forKey key: String) -> Any? {
    let object = anyObject(of: classes, forKey: key)
    return (object as? CKShare)?.isReadable == false ? nil : object
  }

  /// Decodes an object of CloudKit at the top level.
  ///
  /// - Throws: `CocoaError.coderReadCorrupt` for a share that cannot be read: its initializer cannot fail.
  func topLevelObject(forKey key: String) throws -> Any? {
    let object = anyObject(of: Self.archivable, forKey: key)
    guard (object as? CKShare)?.isReadable != false else { throw CocoaError(.coderReadCorrupt) }
    return object
  }

  private func anyObject(of classes: [AnyClass], forKey key: String) -> Any? {
    // Foundation on Linux terminates the process if the key is absent.
    guard Self.depth < 16, containsValue(forKey: key) else { return nil }
    return Self.$depth.withValue(Self.depth + 1) { decodeObject(of: classes, forKey: key) }
  }

  /// Decodes a string; nil if it is absent.
  func string(forKey key: String) -> String? { object(NSString.self, forKey: key).map { String(describing: $0) } }

  /// Archives a value in its wire encoding, which is lossless.
  func encode(wire value: some JSONWritable, forKey key: String) {
    // Wire values and field names can always be encoded.
    guard let data = try? value.json() else { preconditionFailure("\(key) could not be archived.") }
    encode(NSData(data: data), forKey: key)
  }

  /// Decodes a value from its wire encoding; nil if it is missing or damaged.
  func wire<Value: JSONReadable>(_ type: Value.Type, forKey key: String) -> Value? {
    object(NSData.self, forKey: key).flatMap { try? Value(json: Data(referencing: $0)) }
  }
}
