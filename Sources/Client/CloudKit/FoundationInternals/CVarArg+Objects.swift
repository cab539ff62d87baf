public import Foundation

/// An object that can be an argument for `%@` in a predicate format.
///
/// On Apple's systems every object can be; on Linux, Foundation supports only text and numbers. In `String(format:)`,
/// the object is replaced by its description.
public protocol CKFormatArgument: _CVarArgObject {}

extension CKFormatArgument {
  /// The description, because formats on Linux support no objects other than strings.
  public var _cVarArgObject: any CVarArg { NSString(string: String(describing: self)) }

  /// A null pointer, for formats that wrongly expect a number or a C string. `%@` uses the object instead.
  public var _cVarArgEncoding: [Int] { [0] }
}

extension NSNumber: @retroactive CVarArg, @retroactive _CVarArgObject, CKFormatArgument {}
extension NSDate: @retroactive CVarArg, @retroactive _CVarArgObject, CKFormatArgument {}
extension NSData: @retroactive CVarArg, @retroactive _CVarArgObject, CKFormatArgument {}
extension NSArray: @retroactive CVarArg, @retroactive _CVarArgObject, CKFormatArgument {}
extension NSSet: @retroactive CVarArg, @retroactive _CVarArgObject, CKFormatArgument {}
extension NSOrderedSet: @retroactive CVarArg, @retroactive _CVarArgObject, CKFormatArgument {}
extension NSNull: @retroactive CVarArg, @retroactive _CVarArgObject, CKFormatArgument {}
extension NSUUID: @retroactive CVarArg, @retroactive _CVarArgObject, CKFormatArgument {}

// On Apple's systems these are bridged to objects, so that published code passes them as `date as CVarArg`. Without
// bridging that needs a conformance.
extension Date: @retroactive CVarArg, @retroactive _CVarArgObject, CKFormatArgument {}
extension Data: @retroactive CVarArg, @retroactive _CVarArgObject, CKFormatArgument {}
extension UUID: @retroactive CVarArg, @retroactive _CVarArgObject, CKFormatArgument {}
extension Decimal: @retroactive CVarArg, @retroactive _CVarArgObject, CKFormatArgument {}
extension Set: @retroactive CVarArg, @retroactive _CVarArgObject, CKFormatArgument {}
extension Array: @retroactive CVarArg, @retroactive _CVarArgObject, CKFormatArgument {}

extension CKRecord: CKFormatArgument {}
extension CKRecordID: CKFormatArgument {}
extension CKReference: CKFormatArgument {}
extension CLLocation: CKFormatArgument {}
