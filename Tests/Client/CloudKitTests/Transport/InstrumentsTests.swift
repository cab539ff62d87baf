import CloudKit
import Foundation
import Logging
import Synchronization
import Testing

@Suite(.serialized) struct InstrumentsTests {
  /// Keeps what is logged.
  private final class Log: Sendable {
    let lines = Mutex<[(level: Logger.Level, text: String)]>([])

    var logger: Logger {
      var logger = Logger(label: "test") { _ in Handler(log: self) }
      logger.logLevel = .trace
      return logger
    }
  }

  private struct Handler: LogHandler {
    let log: Log
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .trace
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let all = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
      log.lines.withLock { $0.append((event.level, ([event.message.description] + all).joined(separator: " "))) }
    }
  }

  private func container(_ server: ScriptedServer, _ log: Log, logsReasons: Bool = true) -> CKContainer {
    var configuration = CKContainerConfiguration(
      identifier: "iCloud.test",
      credential: .webAuth(apiToken: "api-secret", webAuthToken: "web-secret"),
      transport: server
    )
    configuration.logger = log.logger
    configuration.logsReasons = logsReasons
    return CKContainer(configuration: configuration)
  }

  @Test func `answers, refusals and silence are told with their operation and without secrets or values`() async {
    let log = Log()
    let server = ScriptedServer(
      .json(
        #"{"records":[{"recordName":"private-name","recordType":"Note","fields":{"f":{"value":"private-value"}}}]}"#
      ),
      .json(#"{"serverErrorCode":"THROTTLED","reason":"slow\u001b[2J down"}"#, status: 429),
      .failure(.unknown)
    )
    let database = container(server, log).privateCloudDatabase

    for _ in 0..<3 { _ = try? await database.record(for: CKRecord.ID(recordName: "private-name")) }

    let lines = log.lines.withLock { $0 }
    #expect(lines.map(\.level) == [.debug, .warning, .warning])
    #expect(lines.allSatisfy { $0.text.contains("operation=records/lookup") && $0.text.contains("database=private") })
    #expect(lines[1].text.contains("code=THROTTLED") && lines[1].text.contains("slow\u{FFFD}[2J down"))
    #expect(!lines.contains { $0.text.contains("secret") || $0.text.contains("private-") })
  }

  @Test(arguments: [true, false])
  func `the reasons of a rejection and of a lost reply are logged unless that is off`(logsReasons: Bool) async {
    let log = Log()
    let refusal = #"{"serverErrorCode":"BAD_REQUEST","reason":"no such field"}"#
    let server = ScriptedServer(.json(refusal, status: 400), .failure(.unknown))
    let database = container(server, log, logsReasons: logsReasons).privateCloudDatabase

    for _ in 0..<2 { _ = try? await database.record(for: CKRecord.ID(recordName: "n")) }

    let lines = log.lines.withLock { $0 }.map(\.text)
    #expect(lines.count == 2 && lines[0].contains("code=BAD_REQUEST"))
    #expect(lines.map { $0.contains("reason=") } == [logsReasons, logsReasons])
    #expect(lines[0].contains("no such field") == logsReasons)
  }
}
