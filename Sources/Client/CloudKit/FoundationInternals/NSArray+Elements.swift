internal import Foundation

extension NSArray {
  /// The elements as a Swift array.
  ///
  /// They are read through Foundation's bridge for the sake of the linker. Where Swift's libraries are linked
  /// statically, it leaves out the bridge of arrays unless something calls it, and then no `NSArray` can be cast to a
  /// Swift array: `record["tags"] as? [String]` is nil.
  var elements: [Any] { [Any]._unconditionallyBridgeFromObjectiveC(self) }
}
