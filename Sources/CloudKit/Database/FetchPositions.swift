/// The positions of one fetch of a change feed or query, page by page: its tokens or its cursors.
///
/// A server must not keep a fetch going for ever. So a position that was reached before ends the fetch, also one that
/// alternates with another.
package struct FetchPositions: Sendable {
  private var reached: Set<String> = []

  /// - Parameter start: The token with which the first page of a change feed is requested; nil for the beginning.
  package init(from start: CKServerChangeToken? = nil) {
    if let start { reached.insert(start.wire) }
  }

  /// Returns the token of a page after which more changes are coming.
  ///
  /// - Throws: `CKError` if the fetch has reached it before.
  package mutating func next(_ token: CKServerChangeToken) throws(CKError) -> CKServerChangeToken {
    guard reached.insert(token.wire).inserted else { throw .stalledFeed }
    return token
  }

  /// Returns the cursor of a page after which more results are coming.
  ///
  /// - Throws: `CKError` if the fetch has reached it before.
  package mutating func next(_ cursor: CKQueryOperation.Cursor) throws(CKError) -> CKQueryOperation.Cursor {
    guard reached.insert(cursor.marker).inserted else {
      throw CKError(.internalError, "The server returned the same page of a query twice.")
    }
    return cursor
  }
}

extension CKError {
  /// The error for a change feed that announces more changes but returns a token that it has returned before. Fetching
  /// would never end.
  static var stalledFeed: CKError {
    CKError(.internalError, "The server announced more changes but returned no new change token.")
  }
}
