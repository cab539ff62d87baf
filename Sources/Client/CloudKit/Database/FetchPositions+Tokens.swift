extension FetchPositions {
  /// - Parameter start: The position with which the first page is requested; nil for the beginning.
  package init(from start: (some FetchPosition)?) { self.init(from: start?.text) }

  /// Returns the position of a page after which more are coming.
  ///
  /// - Throws: `CKError` if the fetch has reached it before, or if it is too large.
  package mutating func next<Position: FetchPosition>(_ position: Position) throws(CKError) -> Position {
    do { _ = try next(position.text) } catch { throw CKError(error, in: .read) }
    return position
  }

  /// Follows a feed to its end.
  ///
  /// - Parameters:
  ///   - start: The position of the first page; nil for the beginning.
  ///   - fetch: Fetches the page at a position and returns the position of the next one; nil after the last.
  /// - Throws: `CKError` if a position repeats or is too large, and the errors of `fetch`.
  package static func follow<Position: FetchPosition>(
    from start: Position?,
    _ fetch: (Position?) async throws -> Position?
  ) async throws {
    var (position, positions) = (start, FetchPositions(from: start))
    while let next = try await fetch(position) { position = try positions.next(next) }
  }
}

/// A position in a change feed or query.
package protocol FetchPosition {
  /// The position as the server sent it.
  var text: String { get }
}

extension CKServerChangeToken: FetchPosition { package var text: String { wire } }
extension CKQueryCursor: FetchPosition { package var text: String { marker } }
