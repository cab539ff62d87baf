public import CloudKit
public import CloudKitModels
public import CloudSync

/// A delegate of an engine or a service that receives models rather than records.
///
/// ```swift
/// let delegate = ModelDelegate(
///   .of(Chore.self, didReceive: { chore in await list.show(chore) }, didDelete: { id in await list.remove(id) })
/// )
/// let engine = try SyncEngine(configuration, delegate: delegate)
/// ```
///
/// Types are delivered in the order given here where references do not decide. Records of other types are ignored. A
/// record that does not match its model is delivered again later, as one for which a closure throws; others go on.
public final class ModelDelegate: SyncEngineDelegate {
  /// The closures for the models of one type.
  public struct Receiver: Sendable {
    fileprivate let recordType: CKRecord.RecordType
    fileprivate let didReceive: @Sendable (CKRecord) async throws -> Void
    fileprivate let didDelete: @Sendable (CKRecord.ID) async throws -> Void
    fileprivate let didFail: @Sendable (CKRecord?, FailedChange) async -> FailureDecision

    /// Makes the closures for the models of a type.
    ///
    /// - Parameters:
    ///   - didReceive: Receives a new or changed model. If it throws, the model is delivered again later.
    ///   - didDelete: Receives the identifier of a deleted record. If it throws, it is delivered again later.
    ///   - didFail: Decides about a change that failed for good. The model has the failed change applied; it is nil for
    ///     a deletion, and for a record that does not match the model. By default, an operator decides.
    public static func of<Model: CKRecordModel & Decodable & SendableMetatype>(
      _ type: Model.Type,
      didReceive: @escaping @Sendable (Model) async throws -> Void,
      didDelete: @escaping @Sendable (CKRecord.ID) async throws -> Void = { _ in },
      didFail: @escaping @Sendable (Model?, FailedChange) async -> FailureDecision = { _, _ in .keep }
    ) -> Receiver {
      Receiver(
        recordType: type.recordType,
        didReceive: { try await didReceive(CKRecordDecoder().decode(type, from: $0)) },
        didDelete: didDelete,
        didFail: { record, change in
          await didFail(record.flatMap { try? CKRecordDecoder().decode(type, from: $0) }, change)
        }
      )
    }
  }

  /// The types of the receivers, in their order.
  public let recordTypesInDependencyOrder: [CKRecord.RecordType]
  /// False: changes are sent as they are.
  public let isAskedBeforeSending = false
  private let receivers: [CKRecord.RecordType: Receiver]
  private let didDeleteZone: @Sendable (CKRecordZone.ID) async throws -> Void
  private let willStartOver: @Sendable () async throws -> Void

  /// Makes a delegate.
  ///
  /// - Parameters:
  ///   - receivers: The closures of each type; of two for one type the first counts.
  ///   - didDeleteZone: Called after a zone was deleted and its records were delivered as deleted.
  ///   - willStartOver: Called before every model is delivered again, as `ReceivedChanges.startsOver` says.
  public init(
    _ receivers: Receiver...,
    didDeleteZone: @escaping @Sendable (CKRecordZone.ID) async throws -> Void = { _ in },
    willStartOver: @escaping @Sendable () async throws -> Void = {}
  ) {
    recordTypesInDependencyOrder = receivers.map(\.recordType)
    self.receivers = Dictionary(receivers.map { ($0.recordType, $0) }) { first, _ in first }
    (self.didDeleteZone, self.willStartOver) = (didDeleteZone, willStartOver)
  }

  /// Hands each change to the closures of its type.
  public func syncEngine(_ engine: SyncEngine, didReceive changes: ReceivedChanges) async throws {
    if changes.startsOver { try await willStartOver() }
    for record in changes.modifications { try await receivers[record.recordType]?.didReceive(record) }
    for deletion in changes.deletions { try await receivers[deletion.recordType]?.didDelete(deletion.recordID) }
    for zoneID in changes.deletedZones { try await didDeleteZone(zoneID) }
  }

  /// Asks the closure of the type.
  public func syncEngine(_ engine: SyncEngine, didFail change: FailedChange, of record: CKRecord?) async
    -> FailureDecision
  {
    guard let type = change.recordType ?? record?.recordType, let receiver = receivers[type] else { return .keep }
    return await receiver.didFail(record, change)
  }
}
