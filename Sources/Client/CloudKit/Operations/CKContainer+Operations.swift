internal import Foundation

extension CKContainer {
  /// Calls a closure with a copy of this container that has other settings. All calls and operations of that copy and
  /// its databases use these settings.
  ///
  /// - Parameters:
  ///   - configuration: The settings. Settings that are not set keep their values.
  ///   - group: A group. Its default configuration supplies the settings that `configuration` does not set.
  ///   - body: The closure, which gets the configured container.
  @discardableResult
  public func configuredWith<R>(
    configuration: CKOperation.Configuration? = nil,
    group: CKOperationGroup? = nil,
    body: (CKContainer) throws -> R
  ) rethrows -> R {
    try body(configured(by: OperationSettings(configuration, group)))
  }

  /// Calls a closure with a copy of this container that has other settings. All calls and operations of that copy and
  /// its databases use these settings.
  ///
  /// - Parameters:
  ///   - configuration: The settings. Settings that are not set keep their values.
  ///   - group: A group. Its default configuration supplies the settings that `configuration` does not set.
  ///   - body: The closure, which gets the configured container.
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
  /// Returns the operations that continue after the process ends. Always empty here, because no operation outlives the
  /// process.
  public func allLongLivedOperationIDs() async throws -> [CKOperation.ID] { [] }

  /// Returns an operation that continues after the process ends. Always nil here, because no operation outlives the
  /// process.
  public func longLivedOperation(for operationID: CKOperation.ID) async throws -> CKOperation? { nil }

  /// Passes the operations that continue after the process ends to the handler. Always empty here.
  @preconcurrency
  public func fetchAllLongLivedOperationIDs(
    completionHandler: @escaping @Sendable ([CKOperation.ID]?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.allLongLivedOperationIDs() }
  }

  /// Passes an operation that continues after the process ends to the handler. Always nil here.
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
