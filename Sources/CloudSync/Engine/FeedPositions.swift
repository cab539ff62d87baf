import CloudKit

/// The positions of one fetch of a change feed or query: its tokens or continuation markers.
///
/// A server must not keep a fetch going for ever.
struct FeedPositions {
  private let operation: String
  /// The hashes of the positions so far: a long fetch has many.
  private var seen: Set<Int>

  /// - Parameter start: the position with which the first page is requested.
  init(_ operation: String, from start: String?) {
    self.operation = operation
    seen = [start.hashValue]
  }

  /// Returns the position of the page after one that has more to come.
  mutating func next(_ position: String?) throws(WebServicesError) -> String {
    guard let position, seen.insert(position.hashValue).inserted else { throw Self.stalled(operation) }
    return position
  }

  /// The error of a feed that gives a position again, or none where there is more to come.
  private static func stalled(_ operation: String) -> WebServicesError {
    WebServicesError(.unexpectedServerResponse, "\(operation) gave the same position twice; stopped reading")
  }

  /// The error of a feed with so many pages that it is taken to be endless.
  static func endless(_ operation: String, pages: Int) -> WebServicesError {
    WebServicesError(.unexpectedServerResponse, "\(operation) did not end after \(pages) pages; stopped reading")
  }
}
