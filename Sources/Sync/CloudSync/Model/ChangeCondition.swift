import CloudKit
import Foundation
import GRDB
import JSONText
import Synchronization

/// A condition on the values of a queued change, which SQL evaluates row by row: the stored change is decoded where it
/// has all words that SQL can look for by itself.
///
/// Encrypted values meet no comparison. Only that they are set is seen.
struct ChangeCondition: Hashable, Sendable {
  /// An SQL expression over the columns of `operations`, which is never null.
  let sql: String
  let arguments: [String]

  /// The condition that a value shows a word, in any letter case.
  init(showing word: String) {
    self.init("changeShows", word, storedTexts: word.isStoredAsItIs ? [word] : [])
  }

  /// The condition of a comparison with a field; nil for any other expression.
  init?(_ expression: FilterExpression) {
    guard let stored = expression.stored else { return nil }
    self.init("changeHolds", stored, storedTexts: expression.storedTexts)
  }

  private init(_ function: String, _ argument: String, storedTexts: [String]) {
    let isCandidate = storedTexts.map { _ in "coalesce(changes, '') LIKE ?" }
    sql = "(\((isCandidate + ["\(function)(changes, ?)"]).joined(separator: " AND ")))"
    arguments = storedTexts.map { "%\($0)%" } + [argument]
  }

  /// The functions that the expressions call, and the one for the text of a change without its encrypted values.
  static let functions = [
    DatabaseFunction("changeShows", argumentCount: 2, pure: true) { values in
      guard let word = String.fromDatabaseValue(values[1]).map(SearchWord.init) else { return false }
      return readable(values[0]).contains { $0.value.text(.local).contains(word) }
    },
    DatabaseFunction("changeHolds", argumentCount: 2, pure: true) { values in
      guard let text = String.fromDatabaseValue(values[1]), let test = parsed(text) else { return false }
      let fields = changes(values[0])?.values.mapValues(\.hidingSecret) ?? [:]
      return test.expression.isTrue(test.times) { name in
        fields.filter { $0.key.lowercased() == FilterTable.field(name) }.map(\.value)
      }
    },
    DatabaseFunction("readableChange", argumentCount: 1, pure: true) { values in
      guard var changes = ChangeCondition.changes(values[0]) else { return nil }
      for name in changes.encrypted { changes.forget(name) }
      return (try? changes.json()).map { String(decoding: $0, as: UTF8.self) }
    },
  ]

  private static func changes(_ value: DatabaseValue) -> FieldChanges? {
    String.fromDatabaseValue(value).flatMap { try? FieldChanges(json: Data($0.utf8)) }
  }

  /// The values of a change that are not encrypted; none of a change that cannot be read.
  private static func readable(_ value: DatabaseValue) -> [String: FieldValue] {
    changes(value)?.values.filter { if case .encrypted = $0.value { false } else { true } } ?? [:]
  }

  private typealias Test = (expression: FilterExpression, times: FilterTimes)

  /// Comparisons by their stored text, which is the same for every row.
  private static let known = Mutex<[String: Test]>([:])

  private static func parsed(_ text: String) -> Test? {
    known.withLock { known in
      if let test = known[text] { return test }
      guard let expression = FilterExpression(stored: text) else { return nil }
      if known.count >= 500 { known = [:] }
      let test = (expression, expression.times(.local))
      known[text] = test
      return test
    }
  }
}

extension FilterExpression {
  /// A comparison with a field as a text: a JSON list of the field, the operator and the values. Nil for any other
  /// expression.
  fileprivate var stored: String? {
    let words: [String]? =
      switch self {
      case .compare(let column, let comparison, let value): [column.name, comparison.rawValue, value.text]
      case .among(let column, let values): [column.name, "in"] + values.map(\.text)
      case .like(let column, let pattern): [column.name, "like", pattern]
      case .isNull(let column): [column.name, "null"]
      case .all, .any, .not: nil
      }
    guard let words, columns.first?.kind == .field else { return nil }
    return (try? words.json()).map { String(decoding: $0, as: UTF8.self) }
  }

  fileprivate init?(stored text: String) {
    guard let words = try? [String](json: Data(text.utf8)), words.count > 1, let column = FilterColumn(field: words[0])
    else { return nil }
    let values = words.dropFirst(2).map(FilterValue.text)
    switch words[1] {
    case "in": self = .among(column, values)
    case "like": self = .like(column, pattern: words.last ?? "")
    case "null": self = .isNull(column)
    default:
      guard let comparison = FilterComparison(rawValue: words[1]), let value = values.first else { return nil }
      self = .compare(column, comparison, value)
    }
  }
}

extension FieldValue {
  /// This value; that of an encrypted field without its content, so that it compares with nothing and is not null.
  fileprivate var hidingSecret: FieldValue {
    if case .encrypted = self { .encrypted(.list(.unknown, [])) } else { self }
  }
}
