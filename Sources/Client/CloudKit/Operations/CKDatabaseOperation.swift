/// An operation on one database. Use one of its subclasses.
open class CKDatabaseOperation: CKOperation, @unchecked Sendable {
  /// The database of the operation, set by `CKDatabase.add(_:)`. If nil, the private database of the configuration's
  /// container is used, or of the default container.
  @CKParameter public var database: CKDatabase?

  /// Makes an operation that does nothing. Use a subclass.
  public override init() {}

  /// Returns the database with the operation's settings. The operation's time limit starts now.
  func begin(reporting progress: RecordProgress? = nil) -> CKDatabase {
    var settings = settings
    settings.progress = progress
    let database = database ?? (settings.container ?? .default()).privateCloudDatabase
    return database.configured(by: settings.completed(by: database.settings).begun())
  }
}
