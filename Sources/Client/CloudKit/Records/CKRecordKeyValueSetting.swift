/// An object with values for field names: a record, or its encrypted values.
public protocol CKRecordKeyValueSetting: AnyObject {
  /// The value of a field; nil if it has none. Setting nil clears the field.
  subscript(key: CKRecord.FieldKey) -> (any CKRecordValue)? { get set }
  /// Returns the names of the fields that have a value, in alphabetical order.
  func allKeys() -> [CKRecord.FieldKey]
  /// Returns the names of the fields that were set or cleared since the record was made, fetched or saved.
  func changedKeys() -> [CKRecord.FieldKey]
}

extension CKRecordKeyValueSetting {
  /// The value of a field, for values with the static type `any CKRecordValueProtocol`.
  @_disfavoredOverload
  public subscript(key: CKRecord.FieldKey) -> (any CKRecordValueProtocol)? {
    get { self[key] as (any CKRecordValue)? }
    set { self[key] = newValue.flatMap { StoredField($0).value } }
  }

  /// The value of a field as a specific type; nil if the value cannot be cast to it.
  @_disfavoredOverload
  public subscript<Value: CKRecordValueProtocol>(key: CKRecord.FieldKey) -> Value? {
    get { (self[key] as (any CKRecordValue)?) as? Value }
    set { self[key] = newValue.flatMap { StoredField($0).value } }
  }

  /// Returns the value of a field.
  public func object(forKey key: CKRecord.FieldKey) -> (any CKRecordValue)? { self[key] }

  /// Sets a field, or clears it if nil.
  public func setObject(_ object: (any CKRecordValue)?, forKey key: CKRecord.FieldKey) { self[key] = object }
}

/// An iterator over the fields of a record or its encrypted values.
public struct CKRecordKeyValueIterator: IteratorProtocol {
  private let values: any CKRecordKeyValueSetting
  private var keys: ArraySlice<CKRecord.FieldKey>

  /// Makes an iterator that starts at the first field in alphabetical order. It does not include fields that are set
  /// later.
  public init(_ record: any CKRecordKeyValueSetting) {
    values = record
    keys = record.allKeys()[...]
  }

  /// Returns the next field that has a value.
  public mutating func next() -> (CKRecord.FieldKey, any CKRecordValueProtocol)? {
    while let key = keys.popFirst() {
      if let value: any CKRecordValue = values[key] { return (key, value) }
    }
    return nil
  }
}

extension CKRecord: CKRecordKeyValueSetting, Sequence {
  /// Makes an iterator over the names and values of the record's fields.
  public func makeIterator() -> CKRecordKeyValueIterator { CKRecordKeyValueIterator(self) }
}

// MARK: - Encrypted values

extension CKRecord {
  /// The fields that CloudKit encrypts. The schema must declare them as encrypted, and queries cannot use them.
  ///
  /// With Web Services, the server encrypts and decrypts them for a signed-in user in the private and shared databases.
  /// A server-to-server key has none, because it can access only the public database.
  public var encryptedValues: any CKRecordKeyValueSetting { EncryptedValues(record: self) }
}

private final class EncryptedValues: CKRecordKeyValueSetting {
  private let record: CKRecord

  init(record: CKRecord) { self.record = record }

  subscript(key: CKRecord.FieldKey) -> (any CKRecordValue)? {
    get { record.storedField(key, encrypted: true)?.value }
    set { record.store(newValue, forKey: key, encrypted: true) }
  }

  func allKeys() -> [CKRecord.FieldKey] { record.keys(encrypted: true) }
  func changedKeys() -> [CKRecord.FieldKey] { record.changedKeys(encrypted: true) }
}
