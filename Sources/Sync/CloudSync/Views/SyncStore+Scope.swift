import CloudKit

extension SyncStore {
  /// Reads the scope of the store at a path without opening it; nil if there is no readable store. Opening it reports
  /// why.
  package static func scope(ofStoreAt path: String) -> Scope? {
    let values = SQLiteStorage.values([.container, .environment, .database], ofFileAt: path)
    guard let container = values?[0], let environment = values?[1],
      let database = values?[2].flatMap(DatabaseName.init(rawValue:))
    else { return nil }
    return Scope(container: container, environment: environment, database: database)
  }

  /// Reads a single value of the store at a path without opening it.
  static func value(_ column: StateColumn<String>, ofStoreAt path: String) -> String? {
    SQLiteStorage.values([column], ofFileAt: path)?[0]
  }
}

extension SyncStore {
  /// Reads the owner of the store at a path without opening it.
  package static func owner(ofStoreAt path: String) -> String? { value(.identity, ofStoreAt: path) }
}
