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
