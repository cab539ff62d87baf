import CloudKitSchema
import Foundation

/// Everything that `cktop doctor` looks at.
struct Examination: Sendable {
  var configuration: ConfigurationObservation
  var credential: CredentialObservation
  var server: ServerObservation
  var store: StoreObservation
  var machine: MachineObservation

  /// The judgement of everything, in the order of the report.
  var findings: [Finding] {
    configuration.findings + credential.findings + server.findings + store.findings + machine.findings
  }
}

extension Examination {
  /// Looks at everything that a session uses.
  ///
  /// - Parameters:
  ///   - schema: the schema to compare with what the store has; nil for none.
  ///   - writes: whether to create a zone on the server and delete it again.
  init(of session: Session, _ schema: CKSchema?, writes: Bool) async {
    configuration = ConfigurationObservation(of: session)
    credential = CredentialObservation(of: session)
    server = await ServerObservation(of: session, writes: writes)
    store = StoreObservation(of: session, schema)
    store.caller = try? server.user?.get()
    machine = MachineObservation(of: store.process)
  }
}
