public import Foundation

/// An object that can be an argument for `%@` in a predicate format.
///
/// On Apple's systems every object can be; on Linux, Foundation supports only text and numbers. In `String(format:)`,
/// the object is replaced by its description.
public protocol CKFormatArgument: _CVarArgObject {}

extension CKFormatArgument {
  /// The description, because formats on Linux support no objects other than strings.
  public var _cVarArgObject: any CVarArg { NSString(string: String(describing: self)) }

  /// Traps. Formats never call it; they use the object instead.
  public var _cVarArgEncoding: [Int] { preconditionFailure("Objects in formats are encoded as their descriptions.") }
}

extension NSNumber: @retroactive CVarArg, @retroactive _CVarArgObject, CKFormatArgument {}
extension NSDate: @retroactive CVarArg, @retroactive _CVarArgObject, CKFormatArgument {}
extension NSData: @retroactive CVarArg, @retroactive _CVarArgObject, CKFormatArgument {}
extension NSArray: @retroactive CVarArg, @retroactive _CVarArgObject, CKFormatArgument {}
extension NSSet: @retroactive CVarArg, @retroactive _CVarArgObject, CKFormatArgument {}
extension NSOrderedSet: @retroactive CVarArg, @retroactive _CVarArgObject, CKFormatArgument {}
extension NSNull: @retroactive CVarArg, @retroactive _CVarArgObject, CKFormatArgument {}
extension NSUUID: @retroactive CVarArg, @retroactive _CVarArgObject, CKFormatArgument {}

extension Date: @retroactive CVarArg, @retroactive _CVarArgObject, CKFormatArgument {}
extension Data: @retroactive CVarArg, @retroactive _CVarArgObject, CKFormatArgument {}
extension UUID: @retroactive CVarArg, @retroactive _CVarArgObject, CKFormatArgument {}
extension Decimal: @retroactive CVarArg, @retroactive _CVarArgObject, CKFormatArgument {}
extension Substring: @retroactive CVarArg, @retroactive _CVarArgObject, CKFormatArgument {}
extension Array: @retroactive CVarArg, @retroactive _CVarArgObject, CKFormatArgument {}
extension Set: @retroactive CVarArg, @retroactive _CVarArgObject, CKFormatArgument {}

extension CKRecord: CKFormatArgument {}
extension CKRecordID: CKFormatArgument {}
extension CKReference: CKFormatArgument {}
extension CLLocation: CKFormatArgument {}
