import ArgumentParser
import CloudKitContract
import CloudSync
import Doctor
import Facts
import Foundation

/// `cktop doctor`.
struct DoctorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Check everything that syncing needs, and say what is wrong and what to do.",
    discussion: """
      Checks the settings, the credential, the way to the server, the account, the store, the syncing process and the \
      terminal. Each line is a check: ok, warning, problem, or not tried with the reason. It changes nothing. It \
      tries the server once, waits five seconds at most for the connection and ten for each reply, and checks everything \
      else if there is none.

      Exit codes: 0 no problems, but maybe warnings; 2 a setting is wrong; 4 the store cannot be read; 3 a person is \
      needed; 5 the server cannot be reached; 1 other problems. If several apply, the first in this order.

      With --contract, each line is instead a behaviour of the server that the emulator and the sync engine rest on: as \
      assumed; otherwise, with what came instead; or not tried, with the reason. This output has no private values, so \
      it can be published. The exit code is 1 if a behaviour is otherwise.
      """
  )

  @Option(
    help: ArgumentHelp(
      "Also check what a server with this schema (.ckdb) would refuse of the local copy and the queue.",
      valueName: "file"
    ),
    completion: .file(extensions: ["ckdb"]),
    transform: String.path
  )
  var schema: String?
  @Flag(
    help: """
      Create a zone with a name of its own in the private database, and delete it again. Other devices may see it for a \
      moment. Also deletes such zones of runs that were killed.
      """
  )
  var write = false
  @Flag(
    help: .json(
      """
      Compare the server with what is assumed of it, with at most 200 requests. Creates a zone as --write does, and \
      deletes it again.
      """,
      ContractReport.Line.shape
    )
  )
  var contract = false
  @Flag(help: .json("Print one JSON object per check.", Finding.shape)) var json = false
  @OptionGroup var options: StoreOptions

  func run() async throws {
    if contract { return try await compareWithServer() }
    let report = DoctorReport(try await findings())
    if json {
      OutputFile.standard.lines(report.findings.map(\.json.line))
    } else {
      OutputFile.standard.lines(report.lines(width: OutputFile.standard.width))
    }
    try report.status.end()
  }

  private func findings() async throws -> [Finding] {
    let session: Session
    do throws(CommandFailure) {
      session = try Session(options)
    } catch {
      // Without settings there is neither a server nor a store to look at.
      return [Finding(.configuration, error)] + MachineObservation(of: nil).findings
    }
    session.masksErrors()
    if write { try session.refuseIfReadOnly() }
    let schema = try schema.map { try SchemaFile($0).schema() }
    let settings = ConfigurationObservation(of: session)
    let seen = await Examination(of: session, settings, schema, writes: write) { MachineObservation(of: $0) }
    return seen.findings.map { $0.masked(by: session.redaction) }
  }
}
