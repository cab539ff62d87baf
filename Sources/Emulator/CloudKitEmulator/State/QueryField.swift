import CloudKitSchema
import Foundation
import JSONText

/// The field that a filter or sort descriptor names: a field of the schema or one of the system fields. (reference 3.4)
/// [D]
enum QueryField: Sendable, Hashable {
  case field(String)
  case system(System)
  /// All searchable fields, for a token filter without a field name. [C]
  case wholeRecord(fields: Set<String>)

  /// The system fields by their wire name.
  enum System: String, Sendable, CaseIterable {
    case recordName
    case createdTimestamp
    case modifiedTimestamp
    case createdUserRecordName
    case modifiedUserRecordName
    case parent
    case share

    /// The field in the schema language, which does not have parents and shares.
    var schemaField: CKSchema.SystemField? {
      switch self {
      case .recordName: .recordID
      case .createdTimestamp: .createTime
      case .modifiedTimestamp: .modTime
      case .createdUserRecordName: .createdBy
      case .modifiedUserRecordName: .modifiedBy
      case .parent, .share: nil
      }
    }

    /// The name in the style of the schema language, which some clients send as `fieldName`. [C]
    var schemaName: String { schemaField?.rawValue ?? "___\(rawValue)" }

    /// The type that a filter's value must have. Record names are also compared with STRING.
    var type: CKSchema.ValueType { schemaField?.type ?? .reference }
  }

  /// The name in error messages.
  var name: String {
    switch self {
    case .field(let name): name
    case .system(let system): system.rawValue
    case .wholeRecord: "record"
    }
  }

  /// Reads `fieldName` or `systemFieldName`.
  init(_ object: JSONObject) throws(ServerError) {
    if let name = object["systemFieldName"]?.string {
      guard let system = System(rawValue: name) ?? System.allCases.first(where: { $0.schemaName == name }) else {
        throw .badRequest("Unknown system field '\(name)'")
      }
      self = .system(system)
    } else if let name = object["fieldName"]?.string {
      self = System.allCases.first { $0.schemaName == name }.map { .system($0) } ?? .field(name)
    } else {
      throw .badRequest("Missing 'fieldName' or 'systemFieldName'")
    }
  }
}

extension StoredRecord {
  func value(_ key: QueryField) -> EmulatorValue? {
    switch key {
    case .field(let name): content.fields[name]
    case .system(.recordName): .reference(EmulatorReference(recordName: name))
    case .system(.createdTimestamp): .timestamp(created.milliseconds)
    case .system(.modifiedTimestamp): .timestamp(modified.milliseconds)
    case .system(.createdUserRecordName): .reference(EmulatorReference(recordName: created.userRecordName))
    case .system(.modifiedUserRecordName): .reference(EmulatorReference(recordName: modified.userRecordName))
    case .system(.parent): content.parent.map { .reference(EmulatorReference(recordName: $0)) }
    case .system(.share): content.share.map { .reference(EmulatorReference(recordName: $0)) }
    case .wholeRecord(let names):
      .string(names.flatMap { content.fields[$0]?.texts ?? [] }.joined(separator: "\n"))
    }
  }

  func sortKey(_ key: QueryField) -> SortKey {
    value(key)?.sortKey ?? .null
  }
}

extension EmulatorValue {
  /// The strings of the value: itself, or those of a list.
  fileprivate var texts: [String] {
    switch self {
    case .string(let text): [text]
    case .list(_, let elements): elements.flatMap(\.texts)
    default: []
    }
  }

  /// The sort key of the value; `null` for values without an order: lists, locations and files.
  var sortKey: SortKey {
    switch self {
    case .string(let text): .string(text)
    case .int64(let number), .timestamp(let number): .int(number)
    // NaN has no order.
    case .double(let number): number.isNaN ? .null : .double(number)
    case .bytes(let data): .string(data.base64EncodedString())
    case .reference(let reference): .string(reference.recordName)
    case .location, .asset, .list: .null
    }
  }
}
