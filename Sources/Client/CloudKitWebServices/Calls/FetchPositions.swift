/// The positions of one fetch of a change feed or query, page by page: its tokens, cursors or continuation markers.
///
/// A server must not keep a fetch going for ever, nor return a position that makes every later request too large. So a
/// position that was reached before ends the fetch, also one that alternates with another.
package struct FetchPositions: Sendable {
  /// The size of the largest position that is stored and sent, in bytes. Real ones have some hundred; a request of 2 MB
  /// is refused.
  package static let byteLimit = 1 << 20

  /// The hashes of the positions so far: a long fetch has many.
  private var reached: Set<Int> = []

  /// - Parameter start: The position with which the first page is requested; nil for the beginning.
  package init(from start: String? = nil) {
    if let start { reached.insert(start.hashValue) }
  }

  /// Returns the position of a page after which more are coming.
  ///
  /// - Throws: `WebServicesError` if the fetch has reached it before, or if it is missing or too large.
  package mutating func next(_ position: String?) throws(WebServicesError) -> String {
    try Self.check(position)
    guard let position, reached.insert(position.hashValue).inserted else {
      throw WebServicesError(
        .unexpectedServerResponse,
        "the server announced more, but returned no position or the same one twice; stopped fetching"
      )
    }
    return position
  }

  /// Throws if a position is too large to be used.
  package static func check(_ position: String?) throws(WebServicesError) {
    guard isOversized(position) else { return }
    throw WebServicesError(
      .unexpectedServerResponse,
      "the server returned a position of more than \(byteLimit) bytes; it was not used"
    )
  }

  /// Whether a position is too large to be stored and sent.
  package static func isOversized(_ position: String?) -> Bool { position.map { $0.utf8.count > byteLimit } ?? false }
}
