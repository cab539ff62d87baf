/// Work on one database of a container.
open class CKDatabaseOperation: CKOperation, @unchecked Sendable {
  private struct Settings {
    var database: CKDatabase?
  }

  private let place = Locked(Settings())

  /// Makes an operation without work. Make one of a subclass.
  public override init() {}

  /// The database to work on. `CKDatabase.add(_:)` sets it. Where it is nil the private database of the configuration's
  /// container is meant, or else that of the default container.
  public var database: CKDatabase? {
    get { place.database }
    set { place.database = newValue }
  }

  /// The database to work on from now on, with the settings of this operation.
  func begin() -> CKDatabase {
    let settings = settings
    let database = database ?? (settings.container ?? .default()).privateCloudDatabase
    return database.configured(by: settings.completed(by: database.settings).begun())
  }
}
