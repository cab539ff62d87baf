package import CloudKit
import Foundation
package import JSONText

/// A change to a record's fields: it sets some, clears some and leaves the others alone.
///
/// The queue stores this change, not a whole record, so that applying it to a newer server record keeps the changes of
/// others.
package struct FieldChanges: Hashable, Sendable {
  package private(set) var values: [String: FieldValue]
  package private(set) var cleared: Set<String>
  /// The merge rules of touched fields; for others the engine's rules apply.
  package private(set) var rules: [String: MergeRule]
  /// Whether the record must be new to the server: one that is there already is not changed.
  var isInsert = false
  /// Whether an insert ends without an error if the server has the record already.
  var yields = false

  /// - Parameter rules: rules of untouched fields are ignored.
  package init(values: [String: FieldValue] = [:], cleared: Set<String> = [], rules: [String: MergeRule] = [:]) {
    self.values = values
    self.cleared = cleared.subtracting(values.keys)
    self.rules = rules.filter { values[$0.key] != nil || cleared.contains($0.key) }
  }

  /// Creates the changes that turn one set of fields into another.
  init(from fields: [String: FieldValue], to others: [String: FieldValue]) {
    self.init(
      values: others.filter { !fields[$0.key].isSame(as: $0.value) },
      cleared: Set(fields.keys.filter { !fields[$0].isAbsent }).subtracting(others.keys)
    )
  }

  package var isEmpty: Bool { values.isEmpty && cleared.isEmpty }

  /// The fields cleared or set to an empty list.
  var emptied: Set<String> { cleared.union(values.keys.filter { values[$0].isAbsent }) }

  /// The fields set to encrypted values.
  var encrypted: [String] { values.filter { if case .encrypted = $0.value { true } else { false } }.map(\.key) }

  /// All fields touched.
  package var names: Set<String> { cleared.union(values.keys) }

  /// The value this change gives a touched field; nil clears it.
  package subscript(name: String) -> FieldValue? {
    get { values[name] }
    set {
      values[name] = newValue
      if newValue == nil { cleared.insert(name) } else { cleared.remove(name) }
    }
  }

  /// Removes a field from the change.
  package mutating func forget(_ name: String) {
    values[name] = nil
    cleared.remove(name)
    rules[name] = nil
  }

  /// Sets a field to a merged value.
  mutating func merge(_ name: String, _ value: FieldValue?, _ rule: MergeRule?) {
    self[name] = value
    rules[name] = rule
  }

  /// The change with its values in the store's encoding.
  func canonical(in zone: ZoneKey) -> FieldChanges {
    var result = self
    result.values = values.mapValues { $0.canonical(in: zone) }
    return result
  }

  /// Returns the part of this change for the named fields.
  func only(_ names: Set<String>) -> FieldChanges {
    FieldChanges(
      values: values.filter { names.contains($0.key) },
      cleared: cleared.intersection(names),
      rules: rules
    )
  }

  /// Applies a later change on top of this one.
  package mutating func apply(_ later: FieldChanges) {
    for name in later.names { merge(name, later[name], later.rules[name] ?? rules[name]) }
  }

  /// Returns the fields after this change.
  package func applied(to fields: [String: FieldValue]) -> [String: FieldValue] {
    if fields.isEmpty { return values }
    var result = fields
    for name in cleared { result[name] = nil }
    for (name, value) in values { result[name] = value }
    return result
  }

  /// Returns this change without fields that already have the same value.
  package func effective(on fields: [String: FieldValue]) -> FieldChanges {
    if fields.isEmpty, emptied.isEmpty { return self }
    var result = self
    for name in names where self[name].isSame(as: fields[name]) { result.forget(name) }
    return result
  }

  /// The approximate bytes that an operation with these changes adds to a request.
  package var requestBytes: Int {
    values.reduce(into: cleared.reduce(200) { $0 + $1.utf8.count + 20 }) {
      $0 += $1.key.utf8.count + $1.value.byteCount + 30
    }
  }
}

extension FieldChanges: JSONReadable, JSONWritable {
  package init(json: inout JSONReader) throws(JSONError) {
    var values: [String: FieldValue]?
    var cleared: [String]?
    var rules: [String: MergeRule] = [:]
    var (isInsert, yields) = (false, false)
    try json.enterObject()
    while let key = try json.nextKey() {
      switch key {
      case "values": try json.read(into: &values)
      case "cleared": try json.read(into: &cleared)
      case "rules":
        try json.enterObject()
        while let name = try json.nextKey() {
          let (field, rule) = (try name.string(), MergeRule(rawValue: try json.string()))
          rules[field] = rule
        }
      case "insert": isInsert = try json.bool()
      case "yields": yields = try json.bool()
      default: try json.skip()
      }
    }
    self.init(values: values ?? [:], cleared: Set(cleared ?? []), rules: rules)
    (self.isInsert, self.yields) = (isInsert, yields)
  }

  package func write(to json: inout JSONWriter) {
    json.beginObject()
    json.member("cleared", cleared.sorted())
    if isInsert { json.member("insert", true) }
    if !rules.isEmpty {
      json.key("rules")
      json.beginObject()
      for (name, rule) in rules.sorted(by: { $0.key < $1.key }) {
        json.key(name)
        json.string(rule.rawValue)
      }
      json.endObject()
    }
    json.member("values", values)
    if yields { json.member("yields", true) }
    json.endObject()
  }
}

extension [FieldChanges] {
  /// All fields that any of them touches.
  var names: Set<String> { reduce(into: []) { $0.formUnion($1.names) } }
}
