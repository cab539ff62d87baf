internal import Synchronization

extension CKRecord {
  /// The value of a field; nil if it has none or is one of the `encryptedValues`. Setting nil clears the field on the
  /// server with the next save.
  ///
  /// A date reads back as it was set. It is sent in whole milliseconds, and after the save the record has the server's
  /// value.
  public subscript(key: FieldKey) -> (any CKRecordValue)? {
    get { storedField(key)?.value }
    set { store(newValue, forKey: key) }
  }

  /// The value of a field, for values with the static type `any CKRecordValueProtocol`.
  @_disfavoredOverload
  public subscript(key: FieldKey) -> (any CKRecordValueProtocol)? {
    get { storedField(key)?.value }
    set { store(newValue, forKey: key) }
  }

  /// The value of a field as a specific type; nil if the value cannot be cast to it.
  @_disfavoredOverload
  public subscript<Value: CKRecordValueProtocol>(key: FieldKey) -> Value? {
    get { storedField(key)?.object as? Value }
    set { store(newValue, forKey: key) }
  }

  /// Returns the value of a field. Replaces key-value coding, which Linux does not have.
  public func value(forKey key: FieldKey) -> Any? { storedField(key)?.object }

  /// Sets a field, or clears it if nil. Traps for a value that no field can hold.
  public func setValue(_ value: Any?, forKey key: FieldKey) {
    // A nil wrapped in another optional is also nil.
    guard let value, let present = Optional<Any>(flattening: value) else { return store(nil, forKey: key) }
    guard let recordValue = present as? any CKRecordValueProtocol else {
      preconditionFailure("A record cannot hold a value of type \(type(of: present)) (field \(key)).")
    }
    store(recordValue, forKey: key)
  }

  /// Returns the value at a path: of a field, or of a part of the reference, identifier, asset or location in it, such
  /// as `customer.recordID.recordName`. For a list, the parts of its elements, or their number for `@count`. Nil if a
  /// part of the path has no value. Replaces key-value coding, which Linux does not have.
  public func value(forKeyPath keyPath: String) -> Any? {
    var parts = keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init)[...]
    let field = parts.popFirst().flatMap { value(forKey: $0) }
    return parts.reduce(field) { value, part in value.flatMap { Self.part(part, of: $0) } }
  }

  /// Sets a field, or clears it if nil. Traps for a value that no field can hold, and for a path of several parts,
  /// because the parts of a value cannot be set.
  public func setValue(_ value: Any?, forKeyPath keyPath: String) {
    precondition(!keyPath.contains("."), "A part of a field's value cannot be set (\(keyPath)). Set the field.")
    setValue(value, forKey: keyPath)
  }

  private static func part(_ name: String, of value: Any) -> Any? {
    switch (value, name) {
    case (let list as NSArray, "@count"): list.count
    case (let list as NSArray, _): list.compactMap { part(name, of: $0) }
    case (let reference as CKReference, "recordID"): reference.recordID
    case (let id as CKRecordID, "recordName"): id.recordName
    case (let id as CKRecordID, "zoneID"): id.zoneID
    case (let id as CKRecordZoneID, "zoneName"): id.zoneName
    case (let id as CKRecordZoneID, "ownerName"): id.ownerName
    case (let asset as CKAsset, "fileURL"): asset.fileURL
    case (let location as CLLocation, "coordinate"): location.coordinate
    default: nil
    }
  }

  /// Returns the values of several fields; `NSNull` for a field without a value.
  public func dictionaryWithValues(forKeys keys: [FieldKey]) -> [FieldKey: Any] {
    Dictionary(keys.map { ($0, value(forKey: $0) ?? NSNull()) }) { first, _ in first }
  }

  /// Sets several fields, and clears those whose value is `NSNull`. Traps for a value that no field can hold.
  public func setValuesForKeys(_ keyedValues: [FieldKey: Any]) {
    for (key, value) in keyedValues { setValue(value is NSNull ? nil : value, forKey: key) }
  }

  /// Returns the names of the fields that have a value, in alphabetical order.
  public func allKeys() -> [FieldKey] { keys(encrypted: false) }

  /// Returns the names of the fields that were set or cleared since the record was made, fetched or saved, in
  /// alphabetical order.
  public func changedKeys() -> [FieldKey] { changedKeys(encrypted: false) }

  private func storedField(_ key: FieldKey) -> StoredField? { storedField(key, encrypted: false) }

  private func store(_ value: (any CKRecordValueProtocol)?, forKey key: FieldKey) {
    store(value, forKey: key, encrypted: false)
  }
}

// MARK: - Plain and encrypted fields

extension CKRecord {
  func keys(encrypted: Bool) -> [FieldKey] {
    state.withLock { $0.fields.filter { $0.value.isEncrypted == encrypted }.keys.sorted() }
  }

  /// Returns the changed keys of one kind. A cleared field keeps the kind it had.
  func changedKeys(encrypted: Bool) -> [FieldKey] {
    state.withLock { state in
      let keys = state.changedKeys.filter { key in
        (state.fields[key] ?? state.ancestor?[key])?.isEncrypted ?? false == encrypted
      }
      return keys.sorted()
    }
  }

  func storedField(_ key: FieldKey, encrypted: Bool) -> StoredField? {
    state.withLock { $0.fields[key].flatMap { $0.isEncrypted == encrypted ? $0 : nil } }
  }

  /// The fields that have a value, including the encrypted ones.
  package var storedFields: [FieldKey: StoredField] { state.withLock { $0.fields } }

  /// Sets the fields that have a value and clears the others, in order.
  package func set(_ fields: [(key: FieldKey, field: StoredField?)]) {
    state.withLock { state in
      state.fields.reserveCapacity(state.fields.count + fields.count)
      state.changedKeys.reserveCapacity(state.changedKeys.count + fields.count)
      for (key, field) in fields {
        state.fields[key] = field
        state.changedKeys.insert(key)
      }
      state.edits += fields.count
    }
  }

  func store(_ value: (any CKRecordValueProtocol)?, forKey key: FieldKey, encrypted: Bool) {
    let field = value.map { StoredField($0, isEncrypted: encrypted) }
    state.withLock { state in
      state.fields[key] = field
      state.changedKeys.insert(key)
      state.edits += 1
    }
  }
}
