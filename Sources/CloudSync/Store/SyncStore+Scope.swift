import CloudKit

extension SyncStore {
  /// What the store at a path is for, read without opening it as a store; nil where there is none, or none that can be
  /// read. Opening it says why.
  package static func scope(ofStoreAt path: String) -> Scope? {
    let values = SQLiteStorage.values(["container", "environment", "database"], ofFileAt: path)
    guard let container = values?["container"], let environment = values?["environment"],
      let database = values?["database"].flatMap(DatabaseName.init(rawValue:))
    else { return nil }
    return Scope(container: container, environment: environment, database: database)
  }

  /// A single value of the store at a path, read without opening it as a store.
  static func value(_ key: String, ofStoreAt path: String) -> String? {
    SQLiteStorage.values([key], ofFileAt: path)?[key]
  }
}

extension SyncStore {
  /// Whose the store at a path is, read without opening it as a store.
  package static func owner(ofStoreAt path: String) -> String? { value("identity", ofStoreAt: path) }
}
