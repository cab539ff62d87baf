import CloudKit
import JSONText

/// A response of Web Services, as a check compares it.
struct ContractReply: Sendable {
  let status: Int
  let body: JSONObject

  init(_ body: JSONObject) { (status, self.body) = (200, body) }

  /// A refused request.
  init(_ error: WebServicesError) {
    status = error.httpStatus ?? 0
    body = ["serverErrorCode": .string(error.code.name), "reason": .string(error.reason)]
  }

  private static let lists = ["records", "zones", "subscriptions", "results", "assets", "tokens"]

  /// The elements of the response's list.
  var items: [JSONObject] { Self.lists.lazy.compactMap { body[$0]?.array }.first?.compactMap(\.object) ?? [] }

  var code: String? { body["serverErrorCode"]?.string }
  var names: [String] { items.compactMap { $0["recordName"]?.string } }

  /// The outcome of each item: its error code, `deleted` or `ok`.
  var outcomes: [String] { items.map { $0.code ?? ($0["deleted"]?.bool == true ? "deleted" : "ok") } }

  /// The outcome of the request: its HTTP status and code if it was refused, otherwise the outcomes of its items.
  var outcome: String {
    guard status == 200 else { return "HTTP \(status)" + (code.map { " \($0)" } ?? "") }
    let outcomes = outcomes
    guard !outcomes.isEmpty else { return code ?? "ok" }
    return outcomes.count > 8 ? Set(outcomes).sorted().joined(separator: ", ") : outcomes.joined(separator: ", ")
  }

  /// The outcome with the server's reasons.
  var description: String {
    let reasons = ([body] + items).compactMap { $0["reason"]?.string }
    return reasons.isEmpty ? outcome : "\(outcome) (\(Set(reasons).sorted().joined(separator: "; ")))"
  }

  /// Whether an error of the request or of an item asks for a later try.
  var asksToWait: Bool {
    ([body] + items).compactMap(\.code).contains { ["THROTTLED", "TRY_AGAIN_LATER"].contains($0) }
  }

  /// Compares the outcome with the assumed one.
  func judged(_ assumed: String) -> ContractOutcome { .of(outcome == assumed, came: description) }
}

extension JSONObject {
  var code: String? { self["serverErrorCode"]?.string }

  /// The value of a record's field.
  func value(_ field: String) -> JSON? { self["fields"]?.object?[field]?.object?["value"] }
}
