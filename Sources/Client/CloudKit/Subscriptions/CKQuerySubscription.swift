internal import Crypto
public import Foundation
internal import JSONText
internal import Synchronization

/// A subscription that fires when a record that matches a predicate is created, changed or deleted, depending on its
/// options.
///
/// The server accepts one subscription for each record type and set of options (reference 5.8) and refuses another one
/// with a new identifier. The fields of the predicate need an index, as in a query. The predicate cannot use `now()`.
open class CKQuerySubscription: CKSubscription, @unchecked Sendable {
  /// The events that a query subscription fires for.
  public struct Options: OptionSet, Sendable, Hashable {
    /// The raw bits.
    public let rawValue: UInt
    /// Creates a set of options from raw bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Fires when a matching record is created.
    public static let firesOnRecordCreation = Options(rawValue: 1 << 0)
    /// Fires when a matching record is changed.
    public static let firesOnRecordUpdate = Options(rawValue: 1 << 1)
    /// Fires when a matching record is deleted.
    public static let firesOnRecordDeletion = Options(rawValue: 1 << 2)
    /// Deletes the subscription after it has fired once.
    public static let firesOnce = Options(rawValue: 1 << 3)

    /// The options for types of changes, with their wire names.
    static let words: [(option: Options, word: String)] = [
      (.firesOnRecordCreation, "create"), (.firesOnRecordUpdate, "update"), (.firesOnRecordDeletion, "delete"),
    ]
  }

  /// The record type to watch.
  public let recordType: CKRecord.RecordType
  /// The predicate of the records to watch.
  public let predicate: NSPredicate
  /// The events that the subscription fires for.
  public let querySubscriptionOptions: Options

  private let node: PredicateNode
  /// The filters as received from the server, kept so that a subscription that is fetched and saved again stays the
  /// same, even if its filters are not supported here.
  private let savedFilters: [WireFilter]?
  private let zone: Mutex<CKRecordZone.ID?>

  /// Creates a subscription with an identifier. Use a fixed identifier, so that saving the subscription again replaces
  /// it.
  public init(
    recordType: CKRecord.RecordType,
    predicate: NSPredicate,
    subscriptionID: CKSubscription.ID,
    options querySubscriptionOptions: Options = []
  ) {
    self.recordType = recordType
    self.predicate = predicate
    self.querySubscriptionOptions = querySubscriptionOptions
    node = predicate.node
    savedFilters = nil
    zone = Mutex(nil)
    super.init(.query, subscriptionID: subscriptionID)
  }

  /// Creates a subscription with a random identifier.
  public convenience init(
    recordType: CKRecord.RecordType,
    predicate: NSPredicate,
    options querySubscriptionOptions: Options = []
  ) {
    self.init(
      recordType: recordType,
      predicate: predicate,
      subscriptionID: UUID().uuidString,
      options: querySubscriptionOptions
    )
  }

  /// The zone to watch; nil watches all zones of the database.
  public var zoneID: CKRecordZone.ID? {
    get { zone.withLock { $0 } }
    set { zone.withLock { $0 = newValue } }
  }

  /// Decodes an archived subscription; nil if it is damaged or of another type.
  public required init?(coder: NSCoder) {
    guard let wire = Self.archived(in: coder), let read = CKQuerySubscription(wire: wire) else { return nil }
    recordType = read.recordType
    predicate = read.predicate
    node = read.node
    savedFilters = read.savedFilters
    querySubscriptionOptions = read.querySubscriptionOptions
    zone = Mutex(read.zoneID)
    super.init(.query, wire: wire)
  }

  init?(wire: WireSubscription) {
    guard wire.subscriptionType == "query", let query = wire.query else { return nil }
    recordType = query.recordType
    let zoneID = wire.zoneID.map { CKRecordZoneID(wire: $0, in: .private) }
    let filters = query.filterBy
    // No predicate expresses an unknown filter. The filters themselves are kept beside the predicate.
    let nodes = filters.map {
      PredicateNode($0, in: (zoneID ?? .default).wire) ?? .unusable("no predicate expresses this filter of the server")
    }
    predicate = .all(of: nodes)
    node = predicate.node
    savedFilters = filters
    var options = Options(Options.words.filter { wire.firesOn?.contains($0.word) == true }.map(\.option))
    if wire.firesOnce == true { options.insert(.firesOnce) }
    querySubscriptionOptions = options
    zone = Mutex(zoneID)
    super.init(.query, wire: wire)
  }

  /// Returns a copy of the subscription.
  open override func copy(with zone: NSZone? = nil) -> Any {
    if let wire = try? wire(), let copy = CKQuerySubscription(wire: wire) { return copy }
    let copy = CKQuerySubscription(
      recordType: recordType,
      predicate: predicate,
      subscriptionID: subscriptionID,
      options: querySubscriptionOptions
    )
    copy.zoneID = zoneID
    copy.notificationInfo = notificationInfo?.copy() as? CKNotificationInfo
    return copy
  }

  override func wire() throws(CKError) -> WireSubscription {
    var wire = try super.wire()
    wire.subscriptionType = "query"
    let zoneID = zoneID
    wire.zoneID = zoneID?.wire
    wire.zoneWide = zoneID == nil
    guard !node.usesNow else {
      throw .invalidArguments("A subscription cannot use now(): the server would keep the time when it was saved.")
    }
    var filters = savedFilters
    if filters == nil { filters = try node.filters(zoneID: zoneID ?? .default) }
    wire.query = WireQuery(recordType: recordType, filterBy: filters ?? [])
    wire.firesOn = Options.words.filter { querySubscriptionOptions.contains($0.option) }.map(\.word)
    if querySubscriptionOptions.contains(.firesOnce) { wire.firesOnce = true }
    return wire
  }
}

extension CKQuerySubscription {
  /// Creates a subscription whose identifier is made of everything that it watches: the record type, the predicate, the
  /// zone and the options. Equal ones get the same identifier in every process, whatever the order of their conditions.
  ///
  /// - Throws: `CKError.invalidArguments` for a query that the server does not support.
  package convenience init(
    recordType: CKRecord.RecordType,
    predicate: NSPredicate,
    zoneID: CKRecordZone.ID?,
    options: Options
  ) throws(CKError) {
    let draft = CKQuerySubscription(recordType: recordType, predicate: predicate, subscriptionID: "", options: options)
    draft.zoneID = zoneID
    let hash = SHA256.hash(data: try draft.watched()).prefix(16)
    let id = recordType + "-" + hash.hexadecimal
    self.init(recordType: recordType, predicate: predicate, subscriptionID: id, options: options)
    self.zoneID = zoneID
  }

  /// Whether both subscriptions fire for the same changes.
  package func watchesTheSame(as other: CKQuerySubscription) -> Bool {
    guard let watched = try? watched(), let others = try? other.watched() else { return false }
    return watched == others
  }

  /// Returns the encoding of what the subscription watches, with its conditions in a fixed order.
  private func watched() throws(CKError) -> Data {
    var wire = try wire()
    (wire.subscriptionID, wire.notificationInfo) = ("", nil)
    do {
      let filters = try wire.query?.filterBy.map { (text: String(decoding: try $0.json(), as: UTF8.self), filter: $0) }
      wire.query?.filterBy = filters?.sorted { $0.text < $1.text }.map(\.filter) ?? []
      return try wire.json()
    } catch {
      throw .invalidArguments("The server cannot compare with a number that is not finite.")
    }
  }
}
