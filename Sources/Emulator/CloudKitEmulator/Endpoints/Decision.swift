import JSONText

/// A commit and the answer, which is made from the state after it.
struct Decision {
  var commit: Commit?
  /// Whether an atomic batch failed. Nothing is committed.
  var isRolledBack = false
  /// The number of upload URLs in the answer.
  var uploads = 0
  /// The stored files for which the answer has a receipt.
  var kept: [AssetReceipt] = []
  /// The identity of the item that fails alone if the commit fails; `nil` if the whole request fails.
  var item: JSONObject?
  var answer: () throws(ServerError) -> JSONObject

  /// Decides on one item of a request; a refusal is the item's answer.
  ///
  /// - Parameter failsAlone: Whether a failed commit is the item's answer too, and not the end of the request.
  static func item(
    _ identity: JSONObject,
    failsAlone: Bool = true,
    _ decide: () throws(ServerError) -> Decision
  ) -> Decision {
    do throws(ServerError) {
      var decision = try decide()
      if failsAlone { decision.item = identity }
      return decision
    } catch {
      let answer = error.members(after: identity)
      return Decision { answer }
    }
  }
}

extension JSON {
  /// Returns the answer for one item of a request, or the item's error.
  static func item(_ identity: @autoclosure () -> JSONObject, _ answer: () throws(ServerError) -> JSONObject) -> JSON {
    do throws(ServerError) {
      return .object(try answer())
    } catch {
      return .object(error.members(after: identity()))
    }
  }
}
