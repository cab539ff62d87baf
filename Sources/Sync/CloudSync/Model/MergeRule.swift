import CloudKit
import Foundation
import JSONText

@_exported public import enum Facts.MergeRule

extension MergeRule {
  /// The merged value, the same whichever side is called local; nil if the rule does not fit the values. The inner
  /// value is nil if the field is cleared.
  func joined(base: FieldValue?, local: FieldValue?, server: FieldValue?) -> FieldValue?? {
    if [base, local, server].contains(where: { if case .encrypted? = $0 { true } else { false } }) {
      guard let base = Self.decrypted(base), let local = Self.decrypted(local), let server = Self.decrypted(server)
      else { return nil }
      return joined(base: base, local: local, server: server).map { $0.map(FieldValue.encrypted) }
    }
    switch self {
    case .value: return nil
    case .elements: return Self.elements(base, local, server)
    }
  }

  /// The content of an encrypted value or of no value; nil for a value that is not encrypted.
  private static func decrypted(_ value: FieldValue?) -> FieldValue?? {
    switch value {
    case nil: .some(nil)
    case .encrypted(let value): value
    default: nil
    }
  }

  private static func elements(_ base: FieldValue?, _ local: FieldValue?, _ server: FieldValue?) -> FieldValue?? {
    let sides = [base, local, server]
    var type: FieldType?
    var members: [[FieldValue]] = []
    for side in sides {
      switch side {
      case nil, .list(.unknown, _): members.append([])
      case .list(let element, let values):
        guard element != .asset, type == nil || type == element else { return nil }
        type = element
        members.append(values)
      default: return nil
      }
    }
    guard let type else { return .some(nil) }
    let (before, ours, theirs) = (Set(members[0]), Set(members[1]), Set(members[2]))
    var seen: Set<FieldValue> = []
    let kept = members[0].filter { ours.contains($0) && theirs.contains($0) && seen.insert($0).inserted }
    let added = ours.union(theirs).subtracting(before)
      .map { (bytes: $0.orderingBytes, value: $0) }
      .sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    let values = kept + added.map(\.value)
    return .some(values.isEmpty ? nil : .list(type, values))
  }
}

extension FieldValue {
  /// Bytes that sort the same way on every device. Those of an empty list are those of no value.
  var orderingBytes: Data { isEmptyList ? Data() : (try? json()) ?? Data() }
}

/// The merge rules of record types, field by field.
public struct MergeRules: Hashable, Sendable, Codable {
  private var rules: [String: [String: MergeRule]] = [:]

  /// Creates an empty set of rules: every field is merged as a value.
  public init() {}

  /// The rules of one record type by field name.
  public subscript(recordType: String) -> [String: MergeRule] {
    get { rules[recordType] ?? [:] }
    set { rules[recordType] = newValue.isEmpty ? nil : newValue }
  }

  /// Decodes the rules by record type and field.
  public init(from decoder: any Decoder) throws {
    for (type, stored) in try decoder.singleValueContainer().decode([String: [String: MergeRule]].self) {
      self[type] = stored
    }
  }

  /// Encodes the rules by record type and field.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rules)
  }
}
