package import CloudKit

/// A change that a caller requests.
package struct Change: Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    /// Sets and clears just these fields; creates the record if it does not exist.
    case save(type: String, FieldChanges)
    case delete
  }

  package var key: RecordKey
  package var kind: Kind
  /// The sources of asset bytes, for each field of a save with assets, in the order of the field.
  package var assets: [String: [AssetSource]]
  /// The fields as the caller read them; for others the store's values count. An edit of an outdated value is a
  /// conflict with later changes, not a silent overwrite.
  package var base: [String: FieldValue?]?
  /// The change tag of the version that the caller read.
  package var baseTag: String?
  /// The condition on the record here, and for an inserted one also on the server; nil if there is none.
  package var presence: Presence?
  /// The time at which that version was written, in milliseconds since 1970 by the server's clock.
  package var readAt: Int64?
  /// The other fields of a record that the caller has read or saved before, without assets: they are saved too if the
  /// record has been deleted.
  package var unchanged: [String: FieldValue] = [:]
  /// The number of attempts after which it becomes a dead letter, unless the record has a queued change already; nil:
  /// the store's default.
  package var attemptLimit: Int?
  /// The time at which it was made, in milliseconds since 1970; nil: when it is accepted.
  package var editedAt: Int64?
  /// The name of the operator who paused it before it was accepted; nil: it is ready to be sent.
  var pausedBy: String?

  /// Whether a record is there.
  package enum Presence: Hashable, Sendable {
    /// The record is new.
    case absent
    /// The record is created if it is new. One that is there already is left as it is.
    case absentOrKept
    case present
  }

  package init(
    _ key: RecordKey,
    _ kind: Kind,
    assets: [String: [AssetSource]] = [:],
    base: [String: FieldValue?]? = nil,
    baseTag: String? = nil
  ) {
    self.key = key
    self.kind = kind
    self.assets = assets
    self.base = base
    self.baseTag = baseTag
  }

  /// The change in the store's encoding. What its references leave out is that of the record's fields.
  func canonical(over fields: [String: FieldValue]) -> Change {
    var change = self
    change.base = base?.mapValues { $0?.canonical(in: key.zoneKey) }
    change.unchanged = unchanged.mapValues { $0.canonical(in: key.zoneKey) }
    if case .save(let type, let changes) = kind {
      change.kind = .save(type: type, changes.completed(from: fields).canonical(in: key.zoneKey))
    }
    return change
  }

  /// The base of the change: the fields that the caller read, if it read a version other than the store's.
  func base(beside mirror: MirrorRecord?) -> [String: FieldValue] {
    var result = mirror?.fields ?? [:]
    guard let base, mirror == nil || baseTag != mirror?.changeTag else { return result }
    for (name, value) in base { result[name] = value }
    return result
  }
}

/// The result of requesting a change.
package enum Accepted: Hashable, Sendable {
  /// The change is on disk, as this operation.
  case enqueued(Int64)
  /// The change has no effect.
  case unchanged
  /// The change was rejected for this reason; nothing was enqueued.
  case refused(String)
}
