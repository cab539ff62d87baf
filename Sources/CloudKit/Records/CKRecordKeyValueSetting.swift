/// What holds values under the names of fields: a record, and its encrypted values.
public protocol CKRecordKeyValueSetting: AnyObject {
  /// The value of a field; nil where it has none. Setting nil clears the field.
  subscript(key: CKRecord.FieldKey) -> (any CKRecordValue)? { get set }
  /// The names of the fields that have a value, in alphabetical order.
  func allKeys() -> [CKRecord.FieldKey]
  /// The names of the fields that were set or cleared since the record was made, fetched or saved.
  func changedKeys() -> [CKRecord.FieldKey]
}

extension CKRecordKeyValueSetting {
  /// The value of a field that is known only as a record value.
  @_disfavoredOverload
  public subscript(key: CKRecord.FieldKey) -> (any CKRecordValueProtocol)? {
    get { self[key] as (any CKRecordValue)? }
    set { self[key] = newValue.flatMap { StoredField($0).value } }
  }

  /// The value of a field as a type that the context asks for: nil where the value does not fit it.
  @_disfavoredOverload
  public subscript<Value: CKRecordValueProtocol>(key: CKRecord.FieldKey) -> Value? {
    get { (self[key] as (any CKRecordValue)?) as? Value }
    set { self[key] = newValue.flatMap { StoredField($0).value } }
  }

  /// The value of a field.
  public func object(forKey key: CKRecord.FieldKey) -> (any CKRecordValue)? { self[key] }

  /// Sets or, with nil, clears a field.
  public func setObject(_ object: (any CKRecordValue)?, forKey key: CKRecord.FieldKey) { self[key] = object }
}

/// The fields of a record, or of its encrypted values, one after another.
public struct CKRecordKeyValueIterator: IteratorProtocol {
  private let values: any CKRecordKeyValueSetting
  private var keys: ArraySlice<CKRecord.FieldKey>

  /// Begins with the first field, in alphabetical order. Fields that are set later are not among them.
  public init(_ record: any CKRecordKeyValueSetting) {
    values = record
    keys = record.allKeys()[...]
  }

  /// The next field that has a value.
  public mutating func next() -> (CKRecord.FieldKey, any CKRecordValueProtocol)? {
    while let key = keys.popFirst() {
      if let value: any CKRecordValue = values[key] { return (key, value) }
    }
    return nil
  }
}

extension CKRecord: CKRecordKeyValueSetting, Sequence {
  /// The names and values of the record's fields.
  public func makeIterator() -> CKRecordKeyValueIterator { CKRecordKeyValueIterator(self) }
}

// MARK: - Encrypted values

extension CKRecord {
  /// The fields that CloudKit encrypts, which the schema has to declare so. A query cannot ask for them.
  ///
  /// On the web the server encrypts and decrypts them for a signed-in user, in the private and shared databases; a
  /// server-to-server key, which reaches the public database alone, has none.
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
