import JSONText

/// What an endpoint decided: a commit, and the answer, which is made from the state after it.
struct Decision {
  var commit: Commit?
  /// Whether an atomic batch failed, so that nothing is committed.
  var isRolledBack = false
  /// The number of upload URLs in the answer.
  var uploads = 0
  /// The stored files for which the answer has a receipt.
  var kept: [EmulatorAsset] = []
  var answer: () throws(ServerError) -> JSONObject

  /// Decides on one item of a request; a refusal is the item's answer.
  static func item(_ identity: @autoclosure () -> JSONObject, _ decide: () throws(ServerError) -> Decision) -> Decision
  {
    do throws(ServerError) {
      return try decide()
    } catch {
      let answer = error.members(after: identity())
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
