import CloudKit

/// The positions of one fetch of a change feed or query: its tokens or continuation markers.
///
/// A server must not keep a fetch going for ever, nor hand out a position that makes every later request too large.
struct FeedPositions {
  /// The largest token that is stored and sent, in bytes. Real ones have some hundred; a request of 2 MB is refused.
  static let byteLimit = 1 << 20

  private let operation: String
  /// The hashes of the positions so far: a long fetch has many.
  private var seen: Set<Int>

  /// - Parameter start: the position with which the first page is requested.
  init(_ operation: String, from start: String?) {
    self.operation = operation
    seen = Set(start.map { [$0.hashValue] } ?? [])
  }

  /// Returns the position of the page after one that has more to come.
  mutating func next(_ position: String?) throws(WebServicesError) -> String {
    try check(position)
    guard let position, seen.insert(position.hashValue).inserted else { throw Self.stalled(operation) }
    return position
  }

  /// Throws if a reply's position is too large to be used.
  func check(_ position: String?) throws(WebServicesError) {
    guard Self.isOversized(position) else { return }
    throw WebServicesError(
      .unexpectedServerResponse,
      "\(operation) gave a token of more than \(Self.byteLimit) bytes; it was not used"
    )
  }

  static func isOversized(_ position: String?) -> Bool { position.map { $0.utf8.count > byteLimit } ?? false }

  /// The error of a feed that gives a position again, or none where there is more to come.
  private static func stalled(_ operation: String) -> WebServicesError {
    WebServicesError(.unexpectedServerResponse, "\(operation) gave the same position twice, or none; stopped fetching")
  }

  /// The error of a feed with so many pages that it is taken to be endless.
  static func endless(_ operation: String, pages: Int) -> WebServicesError {
    WebServicesError(.unexpectedServerResponse, "\(operation) did not end after \(pages) pages; stopped fetching")
  }
}
