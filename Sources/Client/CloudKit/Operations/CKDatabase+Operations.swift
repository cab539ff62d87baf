internal import Foundation

extension CKDatabase {
  /// Calls a closure with a copy of this database that has other settings. All calls and operations of that copy use
  /// these settings.
  ///
  /// - Parameters:
  ///   - configuration: The settings. Settings that are not set keep their values.
  ///   - group: A group. Its default configuration supplies the settings that `configuration` does not set.
  ///   - body: The closure, which gets the configured database.
  @discardableResult
  public func configuredWith<R>(
    configuration: CKOperation.Configuration? = nil,
    group: CKOperationGroup? = nil,
    body: (CKDatabase) throws -> R
  ) rethrows -> R {
    try body(configured(by: OperationSettings(configuration, group)))
  }

  /// Calls a closure with a copy of this database that has other settings. All calls and operations of that copy use
  /// these settings.
  ///
  /// - Parameters:
  ///   - configuration: The settings. Settings that are not set keep their values.
  ///   - group: A group. Its default configuration supplies the settings that `configuration` does not set.
  ///   - body: The closure, which gets the configured database.
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
  /// The queue for operations that are added to a database or a container. It has no limit: operations occupy no
  /// thread, and the transport limits the connections.
  static let cloudKit = OperationQueue()
}
