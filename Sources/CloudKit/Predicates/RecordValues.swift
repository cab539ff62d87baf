internal import Foundation
internal import Synchronization

/// A snapshot of a record's values, as predicates use them.
struct RecordValues {
  private let recordID: CKRecordID
  private let state: RecordState

  init(_ record: CKRecord) {
    recordID = record.recordID
    state = record.state.withLock { $0 }
  }

  /// Returns the value of a field; nil if the record lacks the field or the wire format cannot represent its value.
  func value(_ name: WireFieldName) -> FieldValue? {
    switch name {
    case .field(let name): fieldValue(name)
    case .wholeRecord: nil
    case .system(let name):
      switch name {
      case "recordName": .reference(WireReference(recordName: recordID.recordName))
      case "createdTimestamp": state.created.map { .timestamp($0.timestamp) }
      case "modifiedTimestamp": state.modified.map { .timestamp($0.timestamp) }
      case "createdUserRecordName": Self.reference(state.created?.userRecordName)
      case "modifiedUserRecordName": Self.reference(state.modified?.userRecordName)
      case "parent": Self.reference(state.parent?.recordID.recordName)
      case "share": Self.reference(state.share?.recordID.recordName)
      default: nil
      }
    }
  }

  /// The strings that a search of the whole record covers. Encrypted strings are excluded, because the server cannot
  /// read them.
  var texts: [String] {
    state.fields.keys.sorted().flatMap { name -> [String] in
      switch state.fields[name]?.isEncrypted == true ? nil : fieldValue(name) {
      case .string(let text): [text]
      case .list(.string, let elements): elements.compactMap(\.text)
      default: []
      }
    }
  }

  private func fieldValue(_ name: String) -> FieldValue? {
    try? state.fields[name]?.wireValue(key: name, zoneID: recordID.zoneID)
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
