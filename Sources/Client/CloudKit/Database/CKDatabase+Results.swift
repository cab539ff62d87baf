extension CKDatabase {
  /// Sends items in requests of 200, and returns their results in the same order; nil for an item that is deleted.
  ///
  /// - Parameter keepsResults: Whether the error of a later request than the first is the result of its items and of
  ///   those after it.
  /// - Throws: The error of a request that failed as a whole.
  func results<Asked: Sendable, Item>(
    of asked: [Asked],
    id: (Asked) -> Item.ID,
    _ context: FailureContext,
    keepsResults: Bool = false,
    _ ask: (WebServicesClient, [Asked]) async throws(WebServicesError) -> [WireResult<Item>]
  ) async throws(CKError) -> [Result<Item?, any Error>] {
    var results: [Result<Item?, any Error>] = []
    for request in asked.requests {
      do throws(CKError) {
        let reply = try await perform(context) { client throws(WebServicesError) in try await ask(client, request) }
        let ids = request.map(id)
        results += zip(ids, reply.matched(to: ids)).map { id, element in
          switch element {
          case .item(let item): .success(item)
          case .deleted: .success(nil)
          case .failure(_, let failure): .failure(CKError(failure, in: .item))
          case nil: .failure(CKError.omittedItem(Item.name(of: id), context))
          }
        }
      } catch {
        guard keepsResults, !results.isEmpty else { throw error }
        return results + asked[results.count...].map { _ in .failure(error) }
      }
    }
    return results
  }
}

extension CKError {
  /// The error of an item that the reply to a read or a write does not include.
  fileprivate static func omittedItem(_ name: String, _ context: FailureContext) -> CKError {
    CKError(context == .read ? .internalError : .serverResponseLost, "The reply does not include \(name).")
  }
}

extension Dictionary {
  /// Returns an item, or throws its error.
  func item<Item>(_ id: Key, in context: FailureContext) throws -> Item where Value == Result<Item, any Error> {
    guard let result = self[id] else { throw CKError.omittedItem("\(id)", context) }
    return try result.get()
  }
}
