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
