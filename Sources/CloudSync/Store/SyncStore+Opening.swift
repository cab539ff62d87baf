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
    let database: DatabaseName =
      switch databaseScope {
      case .public: .public
      case .private: .private
      case .shared: .shared
      }
    let scope = Scope(container: containerIdentifier, environment: environment.rawValue, database: database)
    try self.init(path: path, scope: scope)
  }
}
