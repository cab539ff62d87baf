internal import CloudKit
internal import Foundation

/// A collection that a field keeps as a native list, as far as its elements are scalars.
protocol FieldList {
  /// The elements as they come.
  var elements: [Any] { get }
  /// Whether their order means something. If not, they are written in one that every process chooses alike.
  static var isOrdered: Bool { get }
}

extension Array: FieldList {
  var elements: [Any] { self }
  static var isOrdered: Bool { true }
}

extension Set: FieldList {
  var elements: [Any] { self.map { $0 } }
  static var isOrdered: Bool { false }
}

extension [any CKRecordValue] {
  /// The scalars of one type in ascending order, so that an equal set is an equal list and is not saved again.
  func inStableOrder() -> Self {
    sorted { left, right in
      switch (left, right) {
      case (let left as String, let right as String): left < right
      case (let left as Int64, let right as Int64): left < right
      case (let left as Double, let right as Double): left < right
      case (let left as Date, let right as Date): left < right
      case (let left as Data, let right as Data): left.lexicographicallyPrecedes(right)
      default: "\(left)" < "\(right)"
      }
    }
  }
}

/// The place of an element in a list, for the coding path of an error.
struct ListIndex: CodingKey {
  let intValue: Int?
  var stringValue: String { "Index \(intValue ?? 0)" }

  init(_ index: Int) { intValue = index }
  init?(intValue: Int) { self.init(intValue) }
  init?(stringValue: String) { nil }
}
