public import Foundation

/// A value that a record's field can hold, as a Swift or a Foundation type.
public protocol CKRecordValueProtocol {}

/// A value that a record's field can hold, as `CKRecord` returns it.
///
/// A record stores Foundation classes (`NSNumber`, `NSString`, `NSDate`, `NSData`, `NSArray`), as Apple's framework
/// does. A number can be cast to any type it fits: `record["age"] as? Int`, `as? Int64`, `as? Double` and, for 0 and 1,
/// `as? Bool`.
public protocol CKRecordValue: CKRecordValueProtocol {}

/// A value of a class, as Apple's Objective-C interface has it. Swift on Linux does not bridge: write
/// `NSString(string: text)` where code for Apple's systems has `text as __CKRecordObjCValue`.
public protocol __CKRecordObjCValue: AnyObject, CKRecordValue {}

extension NSString: __CKRecordObjCValue {}
extension NSNumber: __CKRecordObjCValue {}
extension NSDate: __CKRecordObjCValue {}
extension NSData: __CKRecordObjCValue {}
extension NSArray: __CKRecordObjCValue {}

extension Array: CKRecordValueProtocol where Element: CKRecordValueProtocol {}
extension Array: CKRecordValue where Element: CKRecordValue {}
