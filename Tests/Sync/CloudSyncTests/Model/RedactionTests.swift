import CloudKit
import Facts
import GRDB
import Testing

@testable import CloudSync

/// Nothing that is read to be shown or exported holds a secret.
struct RedactionTests {
  private static let secret = "s3cret-token"
  private static let redaction = Redaction([secret])

  @Test(
    arguments: [
      ("nothing here", "nothing here"), ("token s3cret-token is bad", "token ******** is bad"),
      ("?ckWebAuthToken=abc&x=1", "?ckWebAuthToken=********&x=1"),
      (#"{"webAuthToken": "abc"}"#, #"{"webAuthToken": "********"}"#), ("ckSession: abc, x", "ckSession: ********, x"),
    ]
  )
  func `a secret is masked`(text: String, masked: String) { #expect(Self.redaction.redact(text) == masked) }

  @Test func `whatever a screen or command reads has the secrets of a hostile server masked`() async throws {
    let world = try World()
    let device = try world.device("store")
    let secret = Self.secret
    device.transport.interfere { operation, number, _ in
      guard operation == "records/modify" else { return .pass }
      return number == 1
        ? .refusing("a", "BAD_REQUEST", "the token \(secret) is bad")
        : .answer(status: 503, #"{"serverErrorCode": "TRY_AGAIN_LATER", "reason": "busy with \#(secret)"}"#)
    }
    let id = try device.store.accept(world.put("a", [:]))
    try await device.sync()
    try device.store.accept(world.put("b", [:]))
    _ = try? await device.sync()
    // Another that fails alike stays in the queue.
    let c = try device.store.accept(world.put("c", [:]))
    try device.store.execute(
      "UPDATE operations SET state = 'failed', reason = (SELECT reason FROM operations WHERE id = ?),"
        + " errorCode = 'BAD_REQUEST', errorMessage = 'the token \(secret) is bad' WHERE id = ?",
      [id, c]
    )
    _ = try device.store.perform(.discard, on: .ids([id]), actor: secret)

    func texts(_ redaction: Redaction) throws -> [String] {
      try StoreReader(device.store, redaction).view { view in
        [
          "\(try view.status())", "\(try view.operations())", "\(String(describing: try view.detail(of: id)))",
          "\(try view.causes())", "\(try view.events())", "\(try view.dropped())",
        ]
      }
    }
    // Without masking it is in each of them, so that each can fail.
    for text in try texts(Redaction()) { #expect(text.contains(secret)) }
    for text in try texts(Self.redaction) { #expect(!text.contains(secret)) }
    let causes = try StoreReader(device.store, Self.redaction).view { try $0.causes() }
    for cause in causes {
      #expect(try device.store.operations(matching: QueueFilter(parsing: cause.filter)).total == cause.count)
    }
  }
}
