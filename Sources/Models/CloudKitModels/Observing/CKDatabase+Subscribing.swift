public import CloudKit
internal import Foundation

extension CKQuerySubscription.Options {
  /// Fires when a matching record is created, changed or deleted.
  public static var allChanges: Self { [.firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion] }
}

/// Subscriptions to the changes of models, for push notifications.
///
/// The identifier of a subscription is made of the record type, the conditions, the zone and the options. So every
/// process that subscribes to the same changes uses the same subscription, also when several do so at the same time.
extension CKDatabase {
  /// Subscribes to the changes of models, unless the server has the same subscription already.
  ///
  /// ```swift
  /// try await database.subscribe(to: Note.self, where: Query().filter(\.isDone, equals: false)) {
  ///   $0.alertBody = "A note has changed."
  /// }
  /// ```
  ///
  /// The push has the record type as its category, wakes the app, and may be changed by it before it is shown. It shows
  /// nothing unless an alert is set. A subscription that the server has with another push is replaced.
  ///
  /// - Parameters:
  ///   - query: The models to watch. A subscription has no order and no limit.
  ///   - zoneID: The zone to watch; nil watches all zones of the database.
  ///   - configure: Changes the push.
  /// - Throws: `CKError.serverRejectedRequest` if the server has another subscription for the same record type and
  ///   options, because it keeps one for each; `invalidArguments` if a subscription cannot have the query.
  @discardableResult
  public func subscribe<Model: CKRecordModel>(
    to type: Model.Type = Model.self,
    where query: Query<Model> = Query(),
    options: CKQuerySubscription.Options = .allChanges,
    in zoneID: CKRecordZone.ID? = nil,
    configure: (CKSubscription.NotificationInfo) -> Void = { _ in }
  ) async throws -> CKQuerySubscription {
    try DeclaredDatabase(of: type).check(databaseScope)
    let wanted = try query.subscription(options: options, in: zoneID)
    wanted.notificationInfo.map(configure)
    return try await saved(wanted) { $0.watchesTheSame(as: wanted) && $0.notificationInfo == wanted.notificationInfo }
  }

  /// Deletes the subscription that ``subscribe(to:where:options:in:configure:)`` with the same arguments made. A
  /// subscription that does not exist counts as deleted.
  public func unsubscribe<Model: CKRecordModel>(
    from type: Model.Type = Model.self,
    where query: Query<Model> = Query(),
    options: CKQuerySubscription.Options = .allChanges,
    in zoneID: CKRecordZone.ID? = nil
  ) async throws {
    do {
      try await deleteSubscription(withID: query.subscription(options: options, in: zoneID).subscriptionID)
    } catch let error as CKError where error.code == .unknownItem {}
  }
}

extension CKDatabase {
  /// Subscribes to the changes of models for an observer, to which any push will do: a subscription with another push,
  /// such as an alert of another program, is left as it is.
  func subscribe<Model>(observing query: Query<Model>, in zoneID: CKRecordZone.ID?) async throws -> CKSubscription {
    let wanted = try query.subscription(options: .allChanges, in: zoneID)
    return try await saved(wanted) { $0.watchesTheSame(as: wanted) }
  }

  /// Returns a subscription that the server has and that suffices, or saves the wanted one.
  private func saved(
    _ wanted: CKQuerySubscription,
    unless suffices: (CKQuerySubscription) -> Bool
  ) async throws -> CKQuerySubscription {
    if let known = try await known(wanted.subscriptionID) as? CKQuerySubscription, suffices(known) { return known }
    do {
      return try await save(wanted) as? CKQuerySubscription ?? wanted
    } catch let error as CKError where [.internalError, .serverResponseLost].contains(error.code) {
      // The server answers like this to a second subscription for the same type and options, and the reply to a
      // subscription that was saved may be lost.
      let others = try await allSubscriptions().compactMap { $0 as? CKQuerySubscription }
      if let other = others.first(where: suffices) { return other }
      guard let other = others.first(where: { $0.collides(with: wanted) }) else { throw error }
      throw CKError(
        .serverRejectedRequest,
        "The server keeps one subscription for each record type and set of options, and for \(wanted.recordType) it "
          + "has \(other.subscriptionID). Delete that subscription, or use other options."
      )
    }
  }

  /// Subscribes to the changes in all zones of a shared database, where the server supports no conditions.
  func subscribeToAllZones<Model>(of query: Query<Model>) async throws -> CKSubscription {
    guard try query.subscription(options: .allChanges, in: nil).predicate == NSPredicate(value: true) else {
      throw CKError(.invalidArguments, "Changes in the shared database cannot be observed with conditions.")
    }
    // The same one as that of a sync engine.
    return try await subscribeToAllChanges(as: CKDatabaseSubscription.allChangesID)
  }

  /// Returns the server's subscription with an identifier; nil if there is none.
  private func known(_ id: CKSubscription.ID) async throws -> CKSubscription? {
    do {
      return try await subscription(for: id)
    } catch let error as CKError where error.code == .unknownItem {
      return nil
    }
  }
}

extension Query {
  /// Returns the subscription to the changes of the models, with the default push.
  fileprivate func subscription(
    options: CKQuerySubscription.Options,
    in zoneID: CKRecordZone.ID?
  ) throws -> CKQuerySubscription {
    let wire = try query()
    guard wire.sortDescriptors == nil, limit == nil else {
      throw CKError(.invalidArguments, "A subscription to \(Model.self) cannot have an order or a limit.")
    }
    let subscription = try CKQuerySubscription(
      recordType: wire.recordType,
      predicate: wire.predicate,
      zoneID: zoneID,
      options: options
    )
    let info = CKSubscription.NotificationInfo()
    info.category = Model.recordType
    info.shouldSendContentAvailable = true
    info.shouldSendMutableContent = true
    subscription.notificationInfo = info
    return subscription
  }
}

extension CKQuerySubscription {
  /// Whether the server keeps only one of both.
  fileprivate func collides(with other: CKQuerySubscription) -> Bool {
    let once = Options.firesOnce
    return recordType == other.recordType
      && querySubscriptionOptions.subtracting(once) == other.querySubscriptionOptions.subtracting(once)
  }
}
