public import CloudKit
import Facts
import Foundation

/// The mass-deletion guard: the limits from which deletions on the server are put on hold until a person decides.
///
/// The deletion of a whole zone with records is always put on hold. So is the deletion of all records of a zone at
/// once, if it had at least two. Other deletions are put on hold if they reach both limits.
public struct DeletionGuard: Hashable, Sendable, Codable {
  /// The number of records deleted within an hour.
  public var count: Int
  /// The share of the zone's records at the beginning of that hour, from 0 to 1.
  public var share: Double
  /// Whether nothing is put on hold, not even a deleted zone.
  package private(set) var isOff = false

  /// No guard: every deletion is applied at once.
  public static let off: DeletionGuard = {
    var off = DeletionGuard(count: .max, share: 1)
    off.isOff = true
    return off
  }()

  /// Creates a guard; by default for half of a zone and at least a hundred records.
  public init(count: Int = 100, share: Double = 0.5) {
    self.count = count
    self.share = share
  }

  /// The number of records from which a zone must not become empty at once. The deletion of a single record is ordinary
  /// use, also in a zone that has no other.
  static let wholeZone = 2

  func holds(_ deleted: Int, of records: Int) -> Bool {
    deleted >= count && Double(deleted) >= share * Double(records)
  }
}

/// Deletions on the server that are on hold: the records are still here, in their last known version.
public struct HeldDeletions: Hashable, Sendable {
  package let zone: ZoneKey
  /// Changes whenever the deletions on hold do; a decision about them applies to one version.
  public let version: String
  /// The number of records that the server deleted in the zone.
  public let records: Int
  /// Whether the server deleted the zone itself. Nothing is sent to it meanwhile.
  public let isWholeZone: Bool
  /// The start of the hold.
  public let since: Date

  /// The zone of the records.
  public var zoneID: CKRecordZone.ID { zone.zoneID }
}

/// The result of a decision about deletions on hold.
public struct DeletionOutcome: Hashable, Sendable {
  /// The number of records deleted here, or to be recreated.
  public var records = 0
  /// Whether the deletions on hold changed before the decision was fully applied, which stopped it.
  public var hasMoved = false
  /// The deletions still on hold; nil if none. Unless they changed, these records have a change in flight or a pending
  /// delete.
  public var onHold: HeldDeletions?

  /// Creates an outcome; by default nothing was done.
  package init(records: Int = 0, hasMoved: Bool = false, onHold: HeldDeletions? = nil) {
    self.records = records
    self.hasMoved = hasMoved
    self.onHold = onHold
  }
}

extension HeldDeletions {
  /// The deleted records or zone: "the server deleted 150 records in zone notes".
  package var text: String { Words.deletions(of: records, in: "zone \(zone.title)", isWholeZone: isWholeZone) }

  /// The number of deletions: "150 deletions on hold".
  package var countText: String { "\(Words.count(records, "deletion")) on hold" }

  /// The commands that decide about them.
  package var waysOfDeciding: String { Words.waysOfDeciding(zone: zone.zone, owner: zone.owner) }
}
