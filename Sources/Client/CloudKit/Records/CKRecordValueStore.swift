internal import Foundation

/// The fields of a record in Apple's archives, under the class name used there. It is only read, never written.
final class CKRecordValueStore: NSObject, NSSecureCoding {
  let values: [String: StoredField]
  /// The server's values of fields that were changed since.
  let originals: [String: StoredField]
  let changedKeys: Set<String>

  init?(coder: NSCoder) {
    values = Self.fields(coder, RecordState.ArchiveKey.earlyValues)
    originals = Self.fields(coder, RecordState.ArchiveKey.originalValues)
    let changed = coder.object(NSSet.self, forKey: RecordState.ArchiveKey.changedKeys)?.allObjects
    changedKeys = Set((changed ?? []).compactMap { $0 as? String })
  }

  func encode(with coder: NSCoder) {}

  static var supportsSecureCoding: Bool { true }

  private static func fields(_ coder: NSCoder, _ key: String) -> [String: StoredField] {
    var fields: [String: StoredField] = [:]
    for (name, value) in coder.object(NSDictionary.self, forKey: key) ?? [:] {
      guard let name = name as? String, let object = value as? NSObject else { continue }
      fields[name] = StoredField(archived: object)
    }
    return fields
  }
}

extension StoredField {
  /// Makes a field from an archived value; nil for a value that no field can hold.
  init?(archived object: NSObject, isEncrypted: Bool = false) {
    let elements = (object as? NSArray)?.elements ?? [object]
    guard elements.allSatisfy({ $0 is any CKRecordValue && !($0 is NSArray) }), let value = object as? any CKRecordValue
    else { return nil }
    self.init(value, isEncrypted: isEncrypted)
  }
}
