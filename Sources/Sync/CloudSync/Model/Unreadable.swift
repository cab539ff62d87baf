import CloudKit
import Facts

/// A zone, or a record type of a zone without a change feed, that the server does not let us read, or a record that it
/// sent with a value that does not fit its type. The local copy may be out of date.
package struct Unreadable: Hashable, Sendable {
  package var zone: ZoneKey
  /// Nil for the whole zone or a record.
  package var type: String?
  /// The name of the record; nil for the whole zone or a type.
  package var record: String?
  /// The server's reason.
  package var message: String
  /// The time of the first rejection, in milliseconds since 1970.
  package var since: Int64

  /// A text about it and the reason.
  package var summary: String { Words.unreadable(zone: zone.title, type: type, record: record, message: message) }
}

/// A polled record type whose queries the server rejects, because its schema lacks their indexes.
package struct RejectedQuery: Hashable, Sendable {
  package var type: String
  /// The server's reason.
  package var message: String

  package init(type: String, message: String) { (self.type, self.message) = (type, message) }
}

extension RejectedQuery {
  /// Nil for any other wait.
  init?(_ wait: ScopeWait) {
    // The query itself is the same for every type.
    guard case .fetch(_, let type?) = wait.scope.asCause, ServerErrorCode(wait.code) == .badRequest else { return nil }
    self.init(type: type, message: wait.message)
  }
}
