import CloudKit
import Facts
import Testing

@testable import CloudSync

/// What the server's words say of a rejection.
struct RejectionTests {
  @Test(
    arguments: [
      ("Cannot create new type Task in production schema", .schemaLacks(type: "Task", field: nil, code: "BAD_REQUEST")),
      (
        "Cannot create or modify field 'due' in record 'Task' in production schema",
        .schemaLacks(type: "Task", field: "due", code: "BAD_REQUEST")
      ),
      ("no such field", .rejected(code: "BAD_REQUEST", message: "no such field", group: 5)),
      ("", .rejected(code: "BAD_REQUEST", message: "", group: 5)),
    ] as [(String, FailureCause)]
  )
  func `a type or field that the production schema lacks is known by the server's words`(
    _ reason: String,
    _ cause: FailureCause
  ) {
    let error = WebServicesError(.badRequest, reason)
    #expect(FailureCause(rejection: error, group: 5) == cause)
  }
}
