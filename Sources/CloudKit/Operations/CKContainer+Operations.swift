internal import Foundation

extension CKContainer {
  /// Runs an operation in this container, as soon as what it depends on is done. One on a database without one of its own
  /// runs in the private database.
  public func add(_ operation: CKOperation) {
    if let operation = operation as? CKDatabaseOperation, operation.database == nil {
      operation.database = privateCloudDatabase
    }
    operation.configuration.container = self
    OperationQueue.cloudKit.addOperation(operation)
  }

  /// Calls a body with this container under other settings: everything that is done through the container it is given and
  /// its databases, operations and functions alike, runs under them.
  ///
  /// - Parameters:
  ///   - configuration: The settings; what it leaves open stays as it is.
  ///   - group: A group whose default configuration holds where `configuration` leaves something open.
  ///   - body: What is done with the configured container.
  @discardableResult
  public func configuredWith<R>(
    configuration: CKOperation.Configuration? = nil,
    group: CKOperationGroup? = nil,
    body: (CKContainer) throws -> R
  ) rethrows -> R {
    try body(configured(by: OperationSettings(configuration, group)))
  }

  /// Calls a body with this container under other settings: everything that is done through the container it is given and
  /// its databases, operations and functions alike, runs under them.
  ///
  /// - Parameters:
  ///   - configuration: The settings; what it leaves open stays as it is.
  ///   - group: A group whose default configuration holds where `configuration` leaves something open.
  ///   - body: What is done with the configured container.
  @discardableResult
  public func configuredWith<R>(
    configuration: CKOperation.Configuration? = nil,
    group: CKOperationGroup? = nil,
    body: (CKContainer) async throws -> R
  ) async rethrows -> R {
    try await body(configured(by: OperationSettings(configuration, group)))
  }
}

// MARK: - Long-lived operations

extension CKContainer {
  /// The operations that go on without the process: none here, where nothing outlives it.
  public func allLongLivedOperationIDs() async throws -> [CKOperation.ID] { [] }

  /// An operation that goes on without the process: none here, where nothing outlives it.
  public func longLivedOperation(for operationID: CKOperation.ID) async throws -> CKOperation? { nil }

  /// Calls back with the operations that go on without the process: none here.
  @preconcurrency
  public func fetchAllLongLivedOperationIDs(
    completionHandler: @escaping @Sendable ([CKOperation.ID]?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.allLongLivedOperationIDs() }
  }

  /// Calls back with an operation that goes on without the process: none here.
  @preconcurrency
  public func fetchLongLivedOperation(
    withID operationID: CKOperation.ID,
    completionHandler: @escaping @Sendable (CKOperation?, (any Error)?) -> Void
  ) {
    settings.callBack({ operation, error in completionHandler(operation ?? nil, error) }) {
      try await self.longLivedOperation(for: operationID)
    }
  }
}
