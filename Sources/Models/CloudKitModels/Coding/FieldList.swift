internal import CloudKit
internal import Foundation

/// A collection that is stored as a native list if its elements are scalars.
protocol FieldList {
  /// The elements in their current order.
  var elements: [Any] { get }
  /// Whether the order is significant. If not, the elements are written in an order that is the same in every process.
  static var isOrdered: Bool { get }
  static var elementType: Any.Type { get }
}

extension Array: FieldList {
  var elements: [Any] { self }
  static var isOrdered: Bool { true }
  static var elementType: Any.Type { Element.self }
}

extension Set: FieldList {
  var elements: [Any] { self.map { $0 } }
  static var isOrdered: Bool { false }
  static var elementType: Any.Type { Element.self }
}

extension StoredField {
  /// Whether a list can contain both values.
  func isOfSameType(as other: StoredField) -> Bool {
    wire?.scalarType == other.wire?.scalarType && type(of: object) == type(of: other.object)
  }
}

extension [StoredField] {
  /// Sorts scalars of one type in ascending order, so that equal sets are equal lists and are not saved again.
  func inStableOrder() -> Self {
    sorted { left, right in
      switch (left.wire, right.wire) {
      case (.string(let left), .string(let right)): left < right
      case (.int64(let left), .int64(let right)), (.timestamp(let left), .timestamp(let right)): left < right
      case (.double(let left), .double(let right)): left < right
      case (.bytes(let left), .bytes(let right)): left.lexicographicallyPrecedes(right)
      default: "\(left.object)" < "\(right.object)"
      }
    }
  }
}

/// The index of a list element, for the coding path of an error.
struct ListIndex: CodingKey {
  let intValue: Int?
  var stringValue: String { "Index \(intValue ?? 0)" }

  init(_ index: Int) { intValue = index }
  init?(intValue: Int) { self.init(intValue) }
  init?(stringValue: String) { nil }
}
