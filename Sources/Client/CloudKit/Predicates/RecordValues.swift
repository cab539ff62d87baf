internal import Foundation
internal import Synchronization

/// A snapshot of a record's values, as predicates use them.
package struct RecordValues {
  private enum Fields {
    case stored([String: StoredField], CKRecordZoneID)
    case wire([String: FieldValue])
  }

  private let recordName: String
  private let created: WireStamp?
  private let modified: WireStamp?
  private let parent: String?
  private let share: String?
  private let fields: Fields

  package init(_ record: CKRecord) {
    let state = record.state.withLock { $0 }
    recordName = record.recordID.recordName
    (created, modified) = (state.created, state.modified)
    (parent, share) = (state.parent?.recordID.recordName, state.share?.recordID.recordName)
    fields = .stored(state.fields, record.recordID.zoneID)
  }

  /// Takes the values of a record without making a `CKRecord` of it, which costs more than most comparisons.
  package init(_ record: WireRecord) {
    recordName = record.recordName
    (created, modified) = (record.created, record.modified)
    (parent, share) = (record.parent?.recordName, record.share?.recordName)
    fields = .wire(record.fields)
  }

  /// Returns the value of a field; nil if the record lacks the field or the wire format cannot represent its value.
  func value(_ name: WireFieldName) -> FieldValue? {
    switch name {
    case .field(let name): fieldValue(name)
    case .wholeRecord: nil
    case .system(let name):
      switch name {
      case "recordName": .reference(WireReference(recordName: recordName))
      case "createdTimestamp": created.map { .timestamp($0.timestamp) }
      case "modifiedTimestamp": modified.map { .timestamp($0.timestamp) }
      case "createdUserRecordName": Self.reference(created?.userRecordName)
      case "modifiedUserRecordName": Self.reference(modified?.userRecordName)
      case "parent": Self.reference(parent)
      case "share": Self.reference(share)
      default: nil
      }
    }
  }

  /// The strings that a search of the whole record covers. Encrypted strings are excluded, because the server cannot
  /// read them.
  var texts: [String] {
    names.sorted().flatMap { name -> [String] in
      switch fieldValue(name) {
      case .string(let text): [text]
      case .list(.string, let elements): elements.compactMap(\.text)
      default: []
      }
    }
  }

  private var names: [String] {
    switch fields {
    case .stored(let fields, _): fields.filter { !$0.value.isEncrypted }.map(\.key)
    case .wire(let fields): Array(fields.keys)
    }
  }

  private func fieldValue(_ name: String) -> FieldValue? {
    switch fields {
    case .stored(let fields, let zoneID): try? fields[name]?.wireValue(key: name, zoneID: zoneID)
    case .wire(let fields): fields[name]
    }
  }

  private static func reference(_ name: String?) -> FieldValue? {
    name.map { .reference(WireReference(recordName: $0)) }
  }
}

extension CKRecord {
  /// Returns the words in the record's strings, split at white space, for a custom search.
  public func allTokens() -> [String] {
    RecordValues(self).texts.flatMap { $0.split(whereSeparator: \.isWhitespace).map(String.init) }
  }
}
