public import Foundation

/// What stands for `%@` in a format. On Apple's systems every object does; on Linux Foundation declares text and numbers only.
///
/// In `String(format:)` it stands for its description.
public protocol CKFormatArgument: _CVarArgObject {}

extension CKFormatArgument {
  /// The description: formats on Linux can read texts and no other objects.
  public var _cVarArgObject: any CVarArg { NSString(string: String(describing: self)) }

  /// Never asked for: formats take the object instead.
  public var _cVarArgEncoding: [Int] { preconditionFailure("An object in a format is encoded as its description.") }
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
