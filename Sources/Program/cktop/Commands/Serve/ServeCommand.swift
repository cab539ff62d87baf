import ArgumentParser
import CloudKitEmulator
import CloudSync
import Dispatch
import Facts
import Foundation

/// `cktop serve`: runs the emulator as an HTTP server.
struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Run a CloudKit server on this machine, over HTTP on loopback.",
    discussion: """
      The URL is the first line on standard output; the request log goes to standard error. Without --strict-auth, any \
      API token is accepted and any web auth token is the user of that name. With it, the sign-in page \
      http://HOST:PORT/sign-in?user=NAME shows the web auth token of a user. Requests of web pages are refused \
      unless they come from this machine or from an --allow-origin. SIGINT and SIGTERM stop the server cleanly.

      With --data, every acknowledged write is on disk, even if the process is killed. Without it, all data is lost \
      when the server stops. The next server rejects the old sync tokens, so clients fetch everything again.

      --host opens the server to other machines. It requires --strict-auth and at least one --api-token, --user or \
      --server-key. Traffic is not encrypted: use a TLS proxy on networks that you do not trust.

        cktop serve --port 8080 --data cloud.sqlite &
        CLOUDKIT_URL=http://127.0.0.1:8080 CLOUDKIT_API_TOKEN=any CLOUDKIT_WEB_AUTH_TOKEN=ana \\
          cktop sync --container iCloud.org.example.App
      """
  )

  @Option(parsing: .unconditional, help: "The port to listen on; 0 picks a free one.") var port = 0
  @Option(
    help: ArgumentHelp("The address to listen on; other than loopback only with --strict-auth.", valueName: "address")
  )
  var host = "127.0.0.1"
  @Flag(help: "Open the /emulator endpoint: state, faults, clock; see cktop help admin.") var admin = false
  @Option(
    help: ArgumentHelp("The file for all data; default: in memory.", valueName: "file"),
    completion: .file(),
    transform: String.path
  )
  var data: String?
  @Option(
    help: ArgumentHelp("A TOML fault plan; see cktop help faults.", valueName: "file"),
    completion: .file(extensions: ["toml"]),
    transform: String.path
  )
  var faults: String?
  @Option(parsing: .unconditional, help: ArgumentHelp("Delay every reply.", valueName: "ms")) var delay = 0
  @Option(
    name: .customLong("schema"),
    help: ArgumentHelp(
      "Import a CloudKit schema file (.ckdb) into a container's development environment. May be repeated.",
      valueName: "container=file"
    )
  )
  var schemas: [String] = []
  @Flag(help: "Also deploy each schema to production, where writes do not extend it.") var deploySchema = false
  @Flag(help: "Reject requests with unknown keys, which CloudKit ignores, to find misspelled ones.")
  var strictKeys = false
  @Option(
    name: .customLong("assume"),
    help: ArgumentHelp(
      "How CloudKit behaves where it is undocumented; see cktop help assumptions. May be repeated.",
      valueName: "name=value"
    )
  )
  var assumptions: [String] = []
  @Option(
    name: .customLong("server-key"),
    help: ArgumentHelp("Register a public server-to-server key. May be repeated.", valueName: "public.pem"),
    completion: .file(),
    transform: String.path
  )
  var serverKeys: [String] = []
  @Flag(help: "Accept only the tokens and users named by --api-token and --user.") var strictAuth = false
  @Flag(help: "Accept only the last web auth token issued to a user, as documented.") var strictWebAuth = false
  @Option(
    name: .customLong("api-token"),
    help: ArgumentHelp("An API token that --strict-auth accepts. May be repeated.", valueName: "token")
  )
  var apiTokens: [String] = []
  @Option(
    name: .customLong("user"),
    help: ArgumentHelp(
      "A user that --strict-auth accepts, with the token of the sign-in page. May be repeated.",
      valueName: "name"
    )
  )
  var users: [String] = []
  @Option(
    name: .customLong("allow-origin"),
    help: ArgumentHelp(
      "An origin whose web pages may send requests, as https://app.example.org; pages of this machine always may. "
        + "May be repeated.",
      valueName: "origin"
    )
  )
  var allowedOrigins: [String] = []

  func validate() throws {
    for origin in allowedOrigins where EmulatorConfiguration.origin(origin) == nil {
      throw ValidationError("--allow-origin \(origin) is not an origin; write it as https://app.example.org")
    }
    if !(0...65_535).contains(port) { throw ValidationError("--port must be between 0 and 65535") }
    if !(0...600_000).contains(delay) { throw ValidationError("--delay must be between 0 and 600000 milliseconds") }
  }

  /// The token that the admin endpoint requires. It comes from the environment, because other users can see command
  /// lines.
  static var adminToken: String? {
    ProcessInfo.processInfo.environment["CKTOP_ADMIN_TOKEN"].flatMap { $0.isEmpty ? nil : $0 }
  }

  func run() async throws {
    let emulator = try emulator()
    for schema in schemas { try load(schema, into: emulator) }
    if let faults { emulator.faults = try FaultPlan(tomlFile: faults) }
    let log = DispatchQueue(label: "request log")
    let isColoured = OutputFile.error.isColoured
    let access = admin ? AdminAccess(token: Self.adminToken) : nil
    let server = EmulatorServer(emulator, delay: .milliseconds(delay), admin: access) { entry in
      let line = entry.line(at: SyncStore.currentTime, isColoured: isColoured)
      // The event loop must not wait for the reader of the log.
      log.async { OutputFile.error.line(line) }
    }
    let (stops, stop) = AsyncStream.makeStream(of: Void.self)
    let signals = StopSignals { stop.finish() }
    let bound = try await start(server)
    OutputFile.standard.line("http://\(host.contains(":") ? "[\(host)]" : host):\(bound)")
    for await _ in stops {}
    signals.end()
    // A signal ends every program within a second.
    try await server.stop(grace: .milliseconds(700))
    log.sync {}
  }

  private func emulator() throws -> Emulator {
    var configuration = EmulatorConfiguration()
    configuration.strictAuth = strictAuth
    configuration.strictWebAuth = strictWebAuth
    configuration.rejectsUnknownKeys = strictKeys
    for assumption in assumptions { try Self.assume(assumption, &configuration.assumptions) }
    configuration.apiTokens = Set(apiTokens)
    configuration.users = Set(users)
    configuration.allowedOrigins = Set(allowedOrigins.compactMap(EmulatorConfiguration.origin))
    configuration.serverKeys = try serverKeys.map(serverKey)
    do {
      return try Emulator(configuration: configuration, path: data)
    } catch {
      throw CommandFailure(Self.refusal(of: data ?? "", error), .storeUnusable)
    }
  }

  /// Applies `name=value`.
  private static func assume(_ text: String, _ assumptions: inout EmulatorAssumptions) throws(CommandFailure) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, let assumption = EmulatorAssumption.all.first(where: { $0.name == parts[0] }) else {
      throw .usage("--assume \(text.excerpt) is unknown; give name=value, with a name from cktop help assumptions")
    }
    guard assumption.set(parts[1], in: &assumptions) else {
      throw .usage("--assume \(text.excerpt) is invalid; \(assumption.name) takes \(assumption.values)")
    }
  }

  /// Returns the message for a data file that cannot be used.
  static func refusal(of path: String, _ error: any Error) -> String {
    switch (error as? EmulatorFileError)?.reason {
    case .inUse?: "\(path) is in use by another server; stop that one, or choose another --data"
    case .foreign?: "\(path) is not a file of cktop serve; choose another --data"
    case .otherVersion?: "\(path) was written by another version of cktop; use that one, or choose another --data"
    case .damaged?: "\(path) is damaged; restore a copy, or choose another --data"
    case .inaccessible?:
      "\(path) cannot be opened for writing; check its folder, permissions and disk, or choose another --data"
    case .other?, nil: "\(path) cannot be used (\(error)); choose another --data"
    }
  }

  private func load(_ schema: String, into emulator: Emulator) throws(CommandFailure) {
    let parts = schema.split(separator: "=", maxSplits: 1).map(String.init)
    guard parts.count == 2, parts[1] != "-" else {
      throw .usage("--schema \(schema.excerpt) names no file; give container=file.ckdb")
    }
    let file = try SchemaFile(.path(parts[1]))
    do {
      try emulator.importSchema(file.text, container: parts[0])
      if deploySchema { try emulator.deploySchema(of: parts[0]) }
    } catch let error as EmulatorError {
      throw .usage("\(parts[0].excerpt): \(error.reason); name a container such as iCloud.org.example.App")
    } catch {
      throw .usage("\(parts[1].excerpt): \(error); correct the file")
    }
  }

  private func serverKey(_ path: String) throws(CommandFailure) -> ServerKey {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
      throw .cannotRead(path, remedy: "give the file of a public key in PEM form")
    }
    do {
      return try ServerKey(text)
    } catch {
      switch error {
      case .noPublicKey:
        throw .usage("\(path) holds no public key (-----BEGIN PUBLIC KEY-----); print one with cktop keygen")
      case .notP256: throw .usage("\(path) holds no P-256 key; make one with cktop keygen")
      }
    }
  }

  private func start(_ server: EmulatorServer) async throws(CommandFailure) -> Int {
    do {
      return try await server.start(host: host, port: port)
    } catch EmulatorServer.StartError.cannotListen(let reason) {
      throw cannotListen(reason)
    } catch is EmulatorServer.StartError {
      throw .usage(
        admin && strictAuth && Self.adminToken == nil
          ? "--admin would be open to anyone who can reach \(host); set CKTOP_ADMIN_TOKEN"
          : "--host \(host) accepts other machines; add --strict-auth with --api-token, --user or --server-key"
      )
    } catch {
      throw cannotListen("\(error)")
    }
  }

  private func cannotListen(_ reason: String) -> CommandFailure {
    .usage(
      "\(host.excerpt) port \(port) cannot be opened (\(reason)); choose another --host or --port; 0 is any free port"
    )
  }
}
