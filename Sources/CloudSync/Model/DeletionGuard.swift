public import CloudKit
import Foundation

/// From when on deletions on the server are held back here until somebody has decided about them.
///
/// A zone that is gone with records in it is always held back, and a part of a zone where it is both numbers at least.
public struct DeletionGuard: Hashable, Sendable, Codable {
  /// So many records that readings of the feed find deleted within an hour.
  public var count: Int
  /// This part of the records that the zone had at the beginning of that hour, from 0 to 1.
  public var share: Double
  /// Whether nothing is kept on hold, not even a zone that is gone.
  package private(set) var isOff = false

  /// No guard: every deletion is taken as the server reports it.
  public static let off: DeletionGuard = {
    var off = DeletionGuard(count: .max, share: 1)
    off.isOff = true
    return off
  }()

  /// A guard; by default for half of a zone, and a hundred records.
  public init(count: Int = 100, share: Double = 0.5) {
    self.count = count
    self.share = share
  }

  func holds(_ deleted: Int, of records: Int) -> Bool {
    deleted >= count && Double(deleted) >= share * Double(records)
  }
}

/// Deletions on the server that are held back: the records are still here, as they were last known.
public struct HeldDeletions: Hashable, Sendable {
  package let zone: ZoneKey
  /// Changes whenever what is on hold does: what a decision about it is tied to.
  public let version: String
  /// How many records of the zone the server has deleted.
  public let records: Int
  /// Whether the zone itself is gone. Nothing is sent to it meanwhile.
  public let isWholeZone: Bool
  /// Since when they have been held back.
  public let since: Date

  /// The zone that the records are of.
  public var zoneID: CKRecordZone.ID { zone.zoneID }
}

/// What a decision about deletions on hold came to.
public struct DeletionOutcome: Hashable, Sendable {
  /// How many records were deleted here, or are to be recreated.
  public var records = 0
  /// Whether what is on hold changed before all was done: the decision ended there.
  public var hasMoved = false
  /// What is on hold now; nil: nothing. Without a move, what stays has a change in flight or waits to be deleted here too.
  public var onHold: HeldDeletions?

  /// An outcome; by default nothing was done.
  package init(records: Int = 0, hasMoved: Bool = false, onHold: HeldDeletions? = nil) {
    self.records = records
    self.hasMoved = hasMoved
    self.onHold = onHold
  }
}
