public import CloudKit

extension SyncStore {
  /// Opens the store of one database, making the file and its folder if need be.
  ///
  /// Any number of processes open the same file. One of them drives it, such as `cktop` or `cktop sync`.
  ///
  /// - Throws: `StoreError`, with nothing changed, where the file cannot be read or written, is no store, is damaged,
  ///   is from a newer version, or belongs to another container, environment or database.
  public convenience init(
    path: String,
    containerIdentifier: String,
    environment: CKContainerConfiguration.Environment = .development,
    databaseScope: CKDatabase.Scope
  ) throws(StoreError) {
    try self.init(path: path, scope: Scope(containerIdentifier, environment, databaseScope))
  }

  /// A store of one database in this process's memory, for tests and previews: gone when it is let go.
  public convenience init(
    inMemoryFor containerIdentifier: String,
    environment: CKContainerConfiguration.Environment = .development,
    databaseScope: CKDatabase.Scope
  ) throws(StoreError) {
    try self.init(SQLiteStorage(inMemory: "in memory"), scope: Scope(containerIdentifier, environment, databaseScope))
  }
}

extension SyncStore {
  /// Whether the file was deleted or replaced since it was opened.
  package var isReplaced: Bool {
    do { try storage.requireInPlace() } catch { return true }
    return false
  }
}

extension SyncStore.Scope {
  fileprivate init(
    _ container: String,
    _ environment: CKContainerConfiguration.Environment,
    _ scope: CKDatabase.Scope
  ) {
    let database: DatabaseName =
      switch scope {
      case .public: .public
      case .private: .private
      case .shared: .shared
      }
    self.init(container: container, environment: environment.rawValue, database: database)
  }
}
