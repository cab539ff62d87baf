package import CloudKit

/// A change as a caller asks for it.
package struct Change: Hashable, Sendable {
  /// What is wanted.
  package enum Kind: Hashable, Sendable {
    /// Sets and clears just these fields; creates the record if it does not exist.
    case save(type: String, FieldChanges)
    case delete
  }

  package var key: RecordKey
  package var kind: Kind
  /// Where the bytes of assets are, for each field of a save that holds some, in the order of the field.
  package var assets: [String: [AssetSource]]
  /// The fields as the caller read them; those that are not named, as the store has them. An edit made on a reading that the
  /// server is past is a conflict with what came after, and no silent overwrite.
  package var base: [String: FieldValue?]?
  /// The change tag that the caller read.
  package var baseTag: String?
  /// When that version was written, in milliseconds since 1970 by the server's clock.
  package var readAt: Int64?
  /// The other fields of a record that the caller has read or saved before, without assets: they are saved with it where the
  /// record is there no more, whoever deleted it.
  package var unchanged: [String: FieldValue] = [:]

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

  /// Spelled as the store spells it.
  var canonical: Change {
    var change = self
    change.base = base?.mapValues { $0?.canonical(in: key.zoneKey) }
    change.unchanged = unchanged.mapValues { $0.canonical(in: key.zoneKey) }
    if case .save(let type, let changes) = kind { change.kind = .save(type: type, changes.canonical(in: key.zoneKey)) }
    return change
  }
}

/// What became of a change that was handed in.
package enum Accepted: Hashable, Sendable {
  /// It is on disk, as this operation.
  case enqueued(Int64)
  /// It would change nothing.
  case unchanged
  /// It cannot be, for this reason; nothing was enqueued for it.
  case refused(String)
}
