import ArgumentParser
import CloudKitEmulator
import CloudSync
import Dispatch
import Foundation

/// `cktop serve`.
struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "A CloudKit server on this machine, over HTTP on loopback.",
    discussion: """
      The URL is the first line on standard output; the request log goes to standard error. Any API token is accepted \
      and any web-auth token is the user of that name, unless --strict-auth. Ends in good order at SIGINT and SIGTERM.

        cktop serve --port 8080 --data cloud.sqlite &
        CLOUDKIT_URL=http://127.0.0.1:8080 CLOUDKIT_API_TOKEN=any CLOUDKIT_WEB_AUTH_TOKEN=ana \\
          cktop sync --container iCloud.org.example.App
      """
  )

  @Option(help: "The port; 0 picks a free one.") var port = 0
  @Option(help: ArgumentHelp("Where everything is kept; without it, in memory.", valueName: "file")) var data: String?
  @Option(help: ArgumentHelp("A TOML plan of faults; see cktop help faults.", valueName: "file")) var faults: String?
  @Option(help: ArgumentHelp("Delays every answer.", valueName: "ms")) var delay = 0
  @Option(
    name: .customLong("server-key"),
    help: ArgumentHelp("Registers a public server-to-server key. May be repeated.", valueName: "public.pem")
  )
  var serverKeys: [String] = []
  @Flag(help: "Accept only the tokens and users named by --api-token and --user.") var strictAuth = false
  @Flag(help: "Accept only the last web-auth token issued to a user, as documented.") var strictWebAuth = false
  @Option(
    name: .customLong("api-token"),
    help: ArgumentHelp("An API token that --strict-auth accepts. May be repeated.", valueName: "token")
  )
  var apiTokens: [String] = []
  @Option(
    name: .customLong("user"),
    help: ArgumentHelp("A user that --strict-auth accepts. May be repeated.", valueName: "name")
  )
  var users: [String] = []

  func validate() throws {
    if !(0...65_535).contains(port) { throw ValidationError("--port must be between 0 and 65535") }
    if !(0...600_000).contains(delay) { throw ValidationError("--delay must be between 0 and 600000 milliseconds") }
  }

  func run() async throws {
    let emulator = try emulator()
    if let faults { emulator.faults = try FaultPlan(tomlFile: faults) }
    let log = DispatchQueue(label: "request log")
    let server = EmulatorServer(emulator, delay: .milliseconds(delay)) { entry in
      let line = entry.line(at: SyncStore.currentTime)
      // The event loop must not wait for whoever reads the log.
      log.async { OutputStream.error.line(line) }
    }
    let (stops, stop) = AsyncStream.makeStream(of: Void.self)
    let signals = StopSignals { stop.finish() }
    let bound = try await start(server)
    OutputStream.standard.line("http://127.0.0.1:\(bound)")
    for await _ in stops {}
    signals.end()
    try await server.stop()
    log.sync {}
  }

  private func emulator() throws -> Emulator {
    var configuration = EmulatorConfiguration()
    configuration.strictAuth = strictAuth
    configuration.strictWebAuth = strictWebAuth
    configuration.apiTokens = Set(apiTokens)
    configuration.users = Set(users)
    configuration.serverKeys = try serverKeys.map(serverKey)
    do {
      return try Emulator(configuration: configuration, path: data)
    } catch {
      let path = data ?? ""
      throw CommandFailure(
        "\(path) cannot be used (\(error)); stop the server that has it open, or choose another --data",
        .storeUnusable
      )
    }
  }

  private func serverKey(_ path: String) throws(CommandFailure) -> ServerKey {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
      throw .usage("\(path) cannot be read; give the file of a public key in PEM form")
    }
    do {
      return try ServerKey(text)
    } catch {
      switch error {
      case .noPublicKey:
        throw .usage("\(path) holds no public key (-----BEGIN PUBLIC KEY-----); cktop keygen prints one")
      case .notP256: throw .usage("\(path) holds no P-256 key; make one with cktop keygen")
      }
    }
  }

  private func start(_ server: EmulatorServer) async throws(CommandFailure) -> Int {
    do {
      return try await server.start(port: port)
    } catch {
      throw .usage("port \(port) cannot be opened (\(error)); choose another --port, or 0 for a free one")
    }
  }
}

extension EmulatorServer.LogEntry {
  /// The line of the request log: time, method, database and operation, items, result, duration.
  func line(at now: Int64) -> String {
    let target = summary.database.isEmpty ? summary.operation : "\(summary.database)/\(summary.operation)"
    let duration = String(format: "%.1f", milliseconds)
    let time = RFC3339.text(milliseconds: now) ?? ""
    return "\(time) \(summary.method) \(target) \(summary.items) items \(summary.result) \(duration) ms".visible
  }
}
