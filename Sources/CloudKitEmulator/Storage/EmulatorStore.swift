import Foundation

/// The storage for records and the bytes of assets. There is one in memory and one in a file.
///
/// Reads do not throw. A read that fails returns nothing, and the store remembers the failure. Callers must check
/// `takeFailure()` before they reply or commit.
protocol EmulatorStore: AnyObject {
  /// Returns the records of a zone; a new zone has none.
  func records(in zone: ZoneKey) -> any ZoneRecords

  /// Writes a commit, all or nothing.
  func write(_ commit: Commit) throws

  func write(_ content: AssetContent, asset id: String, until time: Int64) throws
  func size(ofAsset id: String) -> Int?
  func piece(_ number: Int, ofAsset id: String) -> Data?
  func delete(assets ids: [String]) throws

  /// Returns an independent store of the same kind with the same content.
  func copy() throws -> any EmulatorStore

  /// Replaces the content with that of a world's store, all or nothing.
  func replace(by world: World) throws

  /// Returns and clears the failure of a read since the last call, which may have returned too little, or returns why
  /// the store can no longer be used.
  func takeFailure() -> (any Error)?
}

/// The records of one zone.
protocol ZoneRecords: AnyObject {
  var count: Int { get }

  /// The current version of a record.
  subscript(name: String) -> StoredRecord? { get }

  func tombstone(of name: String) -> Tombstone?

  /// Returns the names of changed records and tombstones, each once, in the order of their last change.
  func changes(after sequence: Int64, limit: Int) -> [(sequence: Int64, name: String)]

  /// Returns all names of records or of tombstones, sorted.
  func names(deleted: Bool) -> [String]

  /// Returns the names of the records that have a link to the target, sorted.
  func sources(of link: RecordLink) -> [String]

  /// Returns the IDs of the assets that records refer to, once per referring record.
  func assets() -> [String]

  /// Returns the number of records in a range of an index, counting up to a limit.
  func count(_ range: KeyRange, in index: IndexName, limit: Int) -> Int

  /// Returns records in the order of an index, starting at an entry, inclusive.
  func page(_ range: KeyRange, of index: IndexName, from: IndexEntry?, ascending: Bool, limit: Int) -> [StoredRecord]
}

/// A reference from a record to another record or to an asset.
struct RecordLink: Sendable, Hashable {
  enum Kind: Int64 {
    case parent = 1
    case deleteSelf = 2
    case validate = 3
    case asset = 4
  }

  var kind: Kind
  var target: String
}

extension StoredRecord.Content {
  /// The record's links. If it refers to a target both ways, VALIDATE replaces DELETE_SELF.
  var links: Set<RecordLink> {
    var links: Set<RecordLink> = []
    if let parent { links.insert(RecordLink(kind: .parent, target: parent)) }
    for reference in references {
      switch reference.action {
      case .none: break
      case .deleteSelf: links.insert(RecordLink(kind: .deleteSelf, target: reference.recordName))
      case .validate: links.insert(RecordLink(kind: .validate, target: reference.recordName))
      }
    }
    for case let link in links where link.kind == .validate {
      links.remove(RecordLink(kind: .deleteSelf, target: link.target))
    }
    for asset in assets { links.insert(RecordLink(kind: .asset, target: asset)) }
    return links
  }
}
