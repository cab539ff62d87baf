import CloudKit
import Foundation
import GRDB

extension SyncStore {
  /// What the store at a path is for, read without opening it as a store; nil where there is none, or none that can be
  /// read. Opening it says why.
  package static func scope(ofStoreAt path: String) -> Scope? {
    guard FileManager.default.fileExists(atPath: path) else { return nil }
    var configuration = Configuration()
    configuration.readonly = true
    guard let queue = try? DatabaseQueue(path: path, configuration: configuration) else { return nil }
    return try? queue.read { database in
      guard let container = try Meta.value("container", database),
        let environment = try Meta.value("environment", database),
        let name = try Meta.value("database", database), let kind = DatabaseName(rawValue: name)
      else { return nil }
      return Scope(container: container, environment: environment, database: kind)
    }
  }
}
