import CloudKit

@testable import CloudSync

/// An element into or out of a list that is a set: of what each device adds and removes nothing is lost.
struct Tally: Sendable {
  static let elements = "elements"
  static let rules: [String: MergeRule] = [elements: .elements]

  let key: RecordKey
  let type: String
  /// New in the world.
  let element: Int64
  /// Whether the first that is there is taken out.
  let takesOut: Bool
  /// Whether the change says how its fields are merged, in place of the engine.
  let hasRules: Bool
  /// What was taken out.
  private(set) var removed: Int64?

  /// Changes the list that the store has at this moment.
  ///
  /// - Returns: what was accepted; nil where it was refused.
  func accepted(by store: SyncStore) throws -> Tally? {
    let known = try store.record(key)?.fields ?? [:]
    var tally = self
    var elements: [FieldValue] = []
    if case .list(_, let values)? = known[Self.elements] { elements = values }
    if takesOut, case .int64(let first)? = elements.first {
      tally.removed = first
      elements.removeFirst()
    }
    elements.append(.int64(element))
    let changes = FieldChanges(values: [Self.elements: .list(.int64, elements)], rules: hasRules ? Self.rules : [:])
    let accepted = try store.enqueue([Change(key, .save(type: type, changes))])
    if case .refused? = accepted.first { return nil }
    return tally
  }

  var text: String { "\(key.zone)/\(key.name) lists +\(element)\(removed.map { " -\($0)" } ?? "")" }
}
