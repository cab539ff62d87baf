import Foundation

/// Where an emulator keeps what grows: records, and the bytes of assets. There is one in memory and one in a file.
///
/// Reads do not throw: where one fails, it finds nothing, and the store remembers. Nothing is answered and nothing is
/// committed before somebody has asked for the failure.
protocol EmulatorStore: AnyObject {
  /// The records of a zone; none where the zone is new.
  func records(in zone: Place.Key) -> any ZoneRecords

  /// Carries out all of a commit or nothing.
  func write(_ commit: Commit) throws

  func write(_ content: AssetContent, asset id: String, until time: Int64) throws
  func size(ofAsset id: String) -> Int?
  func piece(_ number: Int, ofAsset id: String) -> Data?
  func delete(assets ids: [String]) throws

  /// A store of the same kind with the same content, which changes apart from this one.
  func copy() throws -> any EmulatorStore

  /// Takes over the content of a core's store, all of it or nothing.
  func replace(by core: EmulatorCore) throws

  /// Why a read since the last call may have found too little.
  func takeFailure() -> (any Error)?
}

/// What a zone asks of its records.
protocol ZoneRecords: AnyObject {
  var count: Int { get }

  /// The current version of a record.
  subscript(name: String) -> StoredRecord? { get }

  func tombstone(of name: String) -> Tombstone?

  /// Names of records and tombstones in the order of their last changes, each once.
  func changes(after sequence: Int64, limit: Int) -> [(sequence: Int64, name: String)]

  /// All names of records or of tombstones, in order.
  func names(deleted: Bool) -> [String]

  /// The names of the records that are linked to a target, in order.
  func sources(of link: RecordLink) -> [String]

  /// The assets that records refer to, once for each of the records.
  func assets() -> [String]

  /// The number of records in a part of an index, as far as a limit; nobody needs to know more exactly.
  func count(_ range: KeyRange, in index: IndexName, limit: Int) -> Int

  /// Records in the order of an index, from an entry on, which is included.
  func page(_ range: KeyRange, of index: IndexName, from: IndexEntry?, ascending: Bool, limit: Int) -> [StoredRecord]
}

/// How one record holds on to another, or to an asset.
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
  /// What the record holds on to. VALIDATE is the stronger promise where it refers to a target both ways.
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
