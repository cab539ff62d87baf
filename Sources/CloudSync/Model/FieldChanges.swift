package import CloudKit
import Foundation

/// What a change does to a record's fields: it sets some, clears some and leaves the others alone.
///
/// The queue keeps this intent, never a whole record, so that replaying it on a newer server record keeps what others
/// wrote.
package struct FieldChanges: Hashable, Sendable {
  package private(set) var values: [String: FieldValue]
  package private(set) var cleared: Set<String>
  /// How touched fields are merged with what others made of them; those not named here, as the engine has it.
  package private(set) var rules: [String: MergeRule]

  /// - Parameter rules: of fields that are not touched, nothing is kept.
  package init(values: [String: FieldValue] = [:], cleared: Set<String> = [], rules: [String: MergeRule] = [:]) {
    self.values = values
    self.cleared = cleared.subtracting(values.keys)
    self.rules = rules.filter { values[$0.key] != nil || cleared.contains($0.key) }
  }

  /// What makes the one of the other.
  init(from fields: [String: FieldValue], to others: [String: FieldValue]) {
    self.init(
      values: others.filter { fields[$0.key] != $0.value },
      cleared: Set(fields.keys).subtracting(others.keys)
    )
  }

  package var isEmpty: Bool { values.isEmpty && cleared.isEmpty }

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

  /// Leaves a field alone after all.
  package mutating func forget(_ name: String) {
    values[name] = nil
    cleared.remove(name)
    rules[name] = nil
  }

  /// Sets a field to what a merge made of it.
  mutating func merge(_ name: String, _ value: FieldValue?, _ rule: MergeRule?) {
    self[name] = value
    rules[name] = rule
  }

  /// The values as the store spells them.
  func canonical(in zone: ZoneKey) -> FieldChanges {
    var result = self
    result.values = values.mapValues { $0.canonical(in: zone) }
    return result
  }

  /// Just what this change does to the named fields.
  func only(_ names: Set<String>) -> FieldChanges {
    FieldChanges(
      values: values.filter { names.contains($0.key) },
      cleared: cleared.intersection(names),
      rules: rules
    )
  }

  /// Does a later change after this one.
  package mutating func apply(_ later: FieldChanges) {
    for name in later.names { merge(name, later[name], later.rules[name] ?? rules[name]) }
  }

  /// The fields after this change.
  package func applied(to fields: [String: FieldValue]) -> [String: FieldValue] {
    if fields.isEmpty { return values }
    var result = fields
    for name in cleared { result[name] = nil }
    for (name, value) in values { result[name] = value }
    return result
  }

  /// This change without what would change nothing.
  package func effective(on fields: [String: FieldValue]) -> FieldChanges {
    if fields.isEmpty, cleared.isEmpty { return self }
    var result = self
    for name in names where self[name] == fields[name] { result.forget(name) }
    return result
  }

  /// Bytes that an operation with these changes adds to a request, about.
  var requestBytes: Int { byteCount + 200 }

  /// Bytes of the values on the wire, about.
  package var byteCount: Int {
    values.reduce(into: cleared.reduce(0) { $0 + $1.utf8.count + 20 }) {
      $0 += $1.key.utf8.count + $1.value.byteCount + 30
    }
  }
}

extension FieldChanges: JSONReadable, JSONWritable {
  package init(json: inout CloudKit.JSONReader) throws(JSONError) {
    var values: [String: FieldValue]?
    var cleared: [String]?
    var rules: [String: MergeRule] = [:]
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
      default: try json.skip()
      }
    }
    self.init(values: values ?? [:], cleared: Set(cleared ?? []), rules: rules)
  }

  package func write(to json: inout JSONWriter) {
    json.beginObject()
    json.member("cleared", cleared.sorted())
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
    json.endObject()
  }
}

extension FieldValue {
  /// Bytes of the value on the wire, about; exact for text and numbers within a few bytes.
  package var byteCount: Int {
    switch self {
    case .string(let text): text.utf8.count
    case .int64, .double, .timestamp: 12
    case .bytes(let data): (data.count * 4 + 2) / 3
    case .location: 80
    case .reference(let reference): reference.recordName.utf8.count + 40
    case .asset: 300
    case .list(_, let elements): elements.reduce(2) { $0 + $1.byteCount + 3 }
    case .encrypted(let value): value.byteCount
    case .other(_, let json): (try? json.json().count) ?? 64
    }
  }
}

extension [FieldChanges] {
  /// All fields that any of them touches.
  var names: Set<String> { reduce(into: []) { $0.formUnion($1.names) } }
}
