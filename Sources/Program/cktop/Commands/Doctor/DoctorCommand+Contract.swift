import CloudKit
import CloudKitContract
import CloudSync
import Doctor
import Facts

extension DoctorCommand {
  /// Runs `--contract`: compares the behaviours that the emulator assumes with those of the configured server.
  func compareWithServer() async throws {
    let session = try Session(options)
    session.masksErrors()
    try session.refuseIfReadOnly()
    if case .apiToken = try session.settings.credential() {
      throw CommandFailure(
        "--contract needs a user or a key; set CLOUDKIT_WEB_AUTH_TOKEN, cktop account shows where to get one",
        .personNeeded
      )
    }
    let scope = try session.scope()
    let contract = Contract(try session.client(scope))
    let run = Task { try await contract.run() }
    // A run that is stopped still removes its zone.
    let signals = StopSignals { run.cancel() }
    defer { signals.end() }
    let report: ContractReport
    do {
      report = try await run.value
    } catch let error as WebServicesError {
      throw error.failure
    }
    let isApple = session.settings.url.value == CKHTTPTransport.appleURL
    let server = "\(isApple ? "Apple's server" : "another server"), \(scope.environment)"
    OutputFile.standard.lines(json ? report.lines.map(\.json.line) : report.text(of: server))
    guard !run.isCancelled else {
      throw CommandFailure("stopped before all checks were made; run it again", .itemsFailed)
    }
    try report.status.end()
  }
}
