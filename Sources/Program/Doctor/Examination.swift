package import CloudKitSchema
package import CloudSync

/// Everything that syncing needs, as this machine and the server show it.
package struct Examination: Sendable {
  var configuration: ConfigurationObservation
  var credential: CredentialObservation
  var server: ServerObservation
  var store: StoreObservation
  var machine: MachineObservation

  /// The judgement of everything, in the order of the report.
  package var findings: [Finding] {
    configuration.findings + credential.findings + server.findings + store.findings + machine.findings
  }
}

extension Examination {
  /// Looks at everything that a session uses.
  ///
  /// - Parameters:
  ///   - configuration: the settings of the session.
  ///   - schema: the schema to compare with what the store has; nil for none.
  ///   - writes: whether to create a zone on the server and delete it again.
  ///   - machine: looks at this machine and the process that syncs the store.
  package init(
    of session: StoreSession<some StoreSettings>,
    _ configuration: ConfigurationObservation,
    _ schema: CKSchema?,
    writes: Bool,
    machine: (ProcessFacts?) -> MachineObservation
  ) async {
    self.configuration = configuration
    credential = CredentialObservation(of: session)
    server = await ServerObservation(of: session, writes: writes)
    store = StoreObservation(of: session, schema)
    store.caller = try? server.user?.get()
    self.machine = machine(store.process)
  }
}
