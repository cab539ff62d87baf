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
}
