extension Array where Element == WireResult<WireRecord> {
  /// Returns the element of a reply for each record of the request, in one zone; nil for a record that the reply does not
  /// include.
  ///
  /// The server does not guarantee the order of the request, so elements are matched by name, byte for byte. An element
  /// without a name is matched by position, unless the reply names that record (reference 2.5).
  package func matched(to names: [String]) -> [WireResult<WireRecord>?] {
    var places: [ExactName: Int] = [:]
    for (place, element) in enumerated() {
      if let name = element.id { places[ExactName(text: name)] = place }
    }
    return names.enumerated().map { place, name in
      if let found = places[ExactName(text: name)] { return self[found] }
      return place < count && self[place].id == nil ? self[place] : nil
    }
  }
}

extension Array where Element == WireResult<WireZone> {
  /// Returns the element of a reply for each zone of the request; nil for a zone that the reply does not include.
  ///
  /// The reply may name another owner than the request, so a zone with a name of its own is matched by name alone. An
  /// element without a name is matched by the order of the zones that are left.
  package func matched(to zones: [WireZoneID]) -> [WireResult<WireZone>?] {
    let names = zones.map { ExactName(text: $0.zoneName) }
    let distinct = Set(zones).map { ExactName(text: $0.zoneName) }
    let found = Dictionary(grouping: filter { $0.id != nil }) { ExactName(text: $0.id?.zoneName ?? "") }
    var matches = zip(zones, names).map { zone, name in
      let own = found[name]?.first { $0.id?.ownerRecordName == zone.ownerRecordName }
      return own ?? (distinct.count { $0 == name } == 1 ? found[name]?.last : nil)
    }
    let nameless = filter { $0.id == nil }
    let left = matches.indices.filter { matches[$0] == nil }
    if left.count == nameless.count { for (place, element) in zip(left, nameless) { matches[place] = element } }
    return matches
  }
}

/// A name by its bytes: the server distinguishes two spellings of an accent.
private struct ExactName: Hashable {
  let text: String

  static func == (lhs: Self, rhs: Self) -> Bool { lhs.text.utf8.elementsEqual(rhs.text.utf8) }
}

/// The server's result for one change of a record that was sent.
package enum SentResult: Sendable {
  /// The record was saved, and is as the server holds it now.
  case saved(WireRecord)
  case deleted
  /// The change failed. The code is `unexpectedServerResponse` if the reply does not show what became of the change.
  case failed(WebServicesError)

  /// Reads the element of a reply; nil if the reply does not include the record.
  package init(_ element: WireResult<WireRecord>?, ofDelete isDelete: Bool) {
    switch element {
    case .item(let record)? where !isDelete: self = .saved(record)
    case .deleted? where isDelete: self = .deleted
    // A name alone: a failure would have a code, and a record a change tag.
    case .item(let record)? where record.recordChangeTag == nil: self = .deleted
    case .failure(_, let error)?: self = .failed(error)
    case nil: self = .unknown("the reply does not include the record")
    case .item?, .deleted?: self = .unknown("the reply does not fit the change")
    }
  }

  private static func unknown(_ reason: String) -> SentResult {
    .failed(WebServicesError(.unexpectedServerResponse, reason, effect: .unknown))
  }
}

extension Dictionary {
  /// Returns the result of an item, or the error of one that the reply to a read or a write does not include.
  func result<Item>(_ id: Key, in context: FailureContext) -> Value where Value == Result<Item, any Error> {
    let code: CKError.Code = context == .read ? .internalError : .serverResponseLost
    return self[id] ?? .failure(CKError(code, "The reply does not include the item."))
  }

  /// Returns an item, or throws its error.
  func item<Item>(_ id: Key, in context: FailureContext) throws -> Item where Value == Result<Item, any Error> {
    try result(id, in: context).get()
  }
}
