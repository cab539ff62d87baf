import CloudKit

extension SyncStore {
  /// Reads the scope of the store at a path without opening it; nil if there is no readable store. Opening it reports
  /// why.
  package static func scope(ofStoreAt path: String) -> Scope? {
    let values = SQLiteStorage.values(["container", "environment", "database"], ofFileAt: path)
    guard let container = values?["container"], let environment = values?["environment"],
      let database = values?["database"].flatMap(DatabaseName.init(rawValue:))
    else { return nil }
    return Scope(container: container, environment: environment, database: database)
  }

  /// Reads a single value of the store at a path without opening it.
  static func value(_ key: String, ofStoreAt path: String) -> String? {
    SQLiteStorage.values([key], ofFileAt: path)?[key]
  }
}

extension SyncStore {
  /// Reads the owner of the store at a path without opening it.
  package static func owner(ofStoreAt path: String) -> String? { value("identity", ofStoreAt: path) }
}
