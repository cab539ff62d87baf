import CloudKit
import Facts

/// The place of a field's value in a list that is ordered by it: numbers and dates by value, then texts in any letter
/// case.
enum FieldOrder: Hashable, Sendable {
  case number(Double)
  case text(String)
  /// The record has no such field.
  case none

  init(_ value: FieldValue?) {
    switch value {
    case nil: self = .none
    case .int64(let number), .timestamp(let number): self = .number(Double(number))
    case .double(let number): self = number.isNaN ? .none : .number(number)
    case .encrypted(let inner): self = FieldOrder(inner)
    case .string(let text): self = .text(String(text.prefix(100)).lowercased())
    case .some(let value): self = .text(String(value.text(.local).prefix(100)).lowercased())
    }
  }

  /// Whether this one comes first. Records without the field come last in both directions.
  func precedes(_ other: FieldOrder, isDescending: Bool) -> Bool {
    switch (self, other) {
    case (.none, _): false
    case (_, .none): true
    case (.number(let left), .number(let right)): isDescending ? left > right : left < right
    case (.text(let left), .text(let right)): isDescending ? left > right : left < right
    case (.number, .text): !isDescending
    case (.text, .number): isDescending
    }
  }
}
