import AsyncHTTPClient
import CloudKit
import CloudKitEmulator
import Foundation
import NIOCore
import Synchronization

/// Something is wrong with the measurement.
struct NotAnswered: Error {}

func microseconds(_ work: () async throws -> Void) async throws -> Double {
  let start = ContinuousClock.now
  try await work()
  return (ContinuousClock.now - start) / .microseconds(1)
}

/// An emulator behind HTTP in a process of its own, as servers are.
enum ServerProcess {
  static let database = EmulatorDatabase.private(of: "ana", "iCloud.benchmark")

  /// Runs a measurement with a new server, and checks that it has the expected number of records afterwards.
  static func run(expecting count: Int, _ body: (URL) async throws -> Double) async throws -> Double {
    let (server, output, input) = (Process(), Pipe(), Pipe())
    server.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    server.arguments = ["serve"]
    (server.standardOutput, server.standardInput) = (output, input)
    try server.run()
    var port = Data()
    while port.last != UInt8(ascii: "\n") { port += try output.fileHandleForReading.read(upToCount: 1) ?? Data() }
    let text = String(decoding: port.dropLast(), as: UTF8.self)
    guard let url = URL(string: "http://127.0.0.1:\(text)") else { throw NotAnswered() }
    let time = try await body(url)
    try input.fileHandleForWriting.close()
    let saved = try output.fileHandleForReading.readToEnd() ?? Data()
    guard String(decoding: saved, as: UTF8.self) == "\(count)\n" else { throw NotAnswered() }
    return time
  }

  /// Is the server until the input ends, and says then how many records it has.
  static func serve() async throws {
    let emulator = try Emulator()
    try emulator.createZone("notes", in: database, at: Date())
    let server = EmulatorServer(emulator)
    print(try await server.start())
    fflush(nil)
    while readLine() != nil {}
    print(emulator.recordCount())
  }

  static func container(at url: URL) -> CKContainer {
    CKContainer(
      identifier: database.container,
      credential: .webAuth(apiToken: "any", webAuthToken: "ana"),
      transport: CKHTTPTransport(baseURL: url)
    )
  }

  /// The address of a call in the private database, with the tokens.
  static func address(of call: String, at url: URL) -> String {
    "\(url.absoluteString)/database/1/\(database.container)/development/private/\(call)?ckAPIToken=any&ckWebAuthToken=ana"
  }
}

/// A client that sends a body and reads the answer away.
enum BareClient {
  static func post(_ body: Data, to address: String, atLeast size: Int) async throws {
    var request = HTTPClientRequest(url: address)
    request.method = .POST
    request.body = .bytes(ByteBuffer(bytes: body))
    let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
    let answer = try await response.body.collect(upTo: 16 << 20)
    guard response.status == .ok, answer.readableBytes >= size else { throw NotAnswered() }
  }
}

/// Takes requests and sends none.
final class RequestTaker: CKTransport {
  let bodies = Mutex<[Data]>([])

  func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
    bodies.withLock { $0.append(request.body) }
    throw CKTransportError(.notSent, "taken")
  }
}
