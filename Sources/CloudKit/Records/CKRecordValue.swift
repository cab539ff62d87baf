public import Foundation

/// A value that a field of a record can hold, in Swift's spelling or Foundation's.
public protocol CKRecordValueProtocol {}

/// A value that a field of a record can hold, as `CKRecord` hands it out.
///
/// A record keeps Foundation's classes (`NSNumber`, `NSString`, `NSDate`, `NSData`, `NSArray`), as Apple's does. Reading
/// casts to whatever the number fits: `record["age"] as? Int`, `as? Int64`, `as? Double` and, for 0 and 1, `as? Bool`.
public protocol CKRecordValue: CKRecordValueProtocol {}

extension NSString: CKRecordValue {}
extension NSNumber: CKRecordValue {}
extension NSDate: CKRecordValue {}
extension NSData: CKRecordValue {}
extension NSArray: CKRecordValue {}

extension String: CKRecordValue {}
extension Bool: CKRecordValue {}
extension Int: CKRecordValue {}
extension Int8: CKRecordValue {}
extension Int16: CKRecordValue {}
extension Int32: CKRecordValue {}
extension Int64: CKRecordValue {}
extension UInt: CKRecordValue {}
extension UInt8: CKRecordValue {}
extension UInt16: CKRecordValue {}
extension UInt32: CKRecordValue {}
extension UInt64: CKRecordValue {}
extension Float: CKRecordValue {}
extension Double: CKRecordValue {}
extension Date: CKRecordValue {}
extension Data: CKRecordValue {}
extension Array: CKRecordValueProtocol where Element: CKRecordValueProtocol {}
extension Array: CKRecordValue where Element: CKRecordValue {}
