public import Foundation

/// A value that a record's field can hold, as a Swift or a Foundation type.
public protocol CKRecordValueProtocol {}

/// A value that a record's field can hold, as `CKRecord` returns it.
///
/// A record stores Foundation classes (`NSNumber`, `NSString`, `NSDate`, `NSData`, `NSArray`), as Apple's framework
/// does. A number can be cast to any type it fits: `record["age"] as? Int`, `as? Int64`, `as? Double` and, for 0 and 1,
/// `as? Bool`.
public protocol CKRecordValue: CKRecordValueProtocol {}

extension NSString: CKRecordValue {}
extension NSNumber: CKRecordValue {}
extension NSDate: CKRecordValue {}
extension NSData: CKRecordValue {}
extension NSArray: CKRecordValue {}

extension Array: CKRecordValueProtocol where Element: CKRecordValueProtocol {}
extension Array: CKRecordValue where Element: CKRecordValue {}
