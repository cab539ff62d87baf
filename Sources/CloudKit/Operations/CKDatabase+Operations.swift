internal import Foundation

extension CKDatabase {
  /// Runs an operation in this database, as soon as what it depends on is done.
  public func add(_ operation: CKDatabaseOperation) {
    operation.database = self
    OperationQueue.cloudKit.addOperation(operation)
  }

  /// Calls a body with this database under other settings: everything that is done through the database it is given,
  /// operations and functions alike, runs under them.
  ///
  /// - Parameters:
  ///   - configuration: The settings; what it leaves open stays as it is.
  ///   - group: A group whose default configuration holds where `configuration` leaves something open.
  ///   - body: What is done with the configured database.
  @discardableResult
  public func configuredWith<R>(
    configuration: CKOperation.Configuration? = nil,
    group: CKOperationGroup? = nil,
    body: (CKDatabase) throws -> R
  ) rethrows -> R {
    try body(configured(by: OperationSettings(configuration, group)))
  }

  /// Calls a body with this database under other settings: everything that is done through the database it is given,
  /// operations and functions alike, runs under them.
  ///
  /// - Parameters:
  ///   - configuration: The settings; what it leaves open stays as it is.
  ///   - group: A group whose default configuration holds where `configuration` leaves something open.
  ///   - body: What is done with the configured database.
  @discardableResult
  public func configuredWith<R>(
    configuration: CKOperation.Configuration? = nil,
    group: CKOperationGroup? = nil,
    body: (CKDatabase) async throws -> R
  ) async rethrows -> R {
    try await body(configured(by: OperationSettings(configuration, group)))
  }
}

extension OperationSettings {
  init(_ configuration: CKOperationConfiguration?, _ group: CKOperationGroup?) {
    self = configuration?.settings ?? OperationSettings()
    if let group { self = completed(by: group.defaultConfiguration.settings) }
  }
}

extension OperationQueue {
  /// Where operations run that are added to a database or a container. Nothing waits for a turn there: operations occupy
  /// no thread, and the transport limits the connections.
  static let cloudKit = OperationQueue()
}
