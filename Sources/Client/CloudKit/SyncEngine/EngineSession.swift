/// One fetch or send: the engine, its delegate, and the database with the settings of the operation's group.
struct EngineSession: Sendable {
  let engine: CKSyncEngine
  let delegate: any CKSyncEngineDelegate
  let database: CKDatabase

  var state: CKSyncEngine.State { engine.state }

  /// Delivers an event, then the state if it changed.
  ///
  /// `before` and `after` change the state with no other call of the delegate in between, so that no saved state says
  /// that something was handled which was not.
  func post(
    _ event: CKSyncEngine.Event,
    before: (@Sendable (inout EngineState) -> Void)? = nil,
    after: (@Sendable (inout EngineState) -> Void)? = nil
  ) async {
    await engine.call {
      if let before { state.update(before) }
      await delegate.handleEvent(event, syncEngine: engine)
      if let after { state.update(after) }
      await engine.reportState(to: delegate)
    }
  }

  /// Changes the state and reports it.
  func update(_ change: @escaping @Sendable (inout EngineState) -> Void) async {
    await engine.call {
      state.update(change)
      await engine.reportState(to: delegate)
    }
  }

  /// Runs a fetch or a send as the signed-in user.
  func run(_ body: @Sendable (EngineSession) async -> CKError?) async throws {
    let client = try database.client.get()
    // A sign-in during the operation must not send one user's changes as another.
    let failure = try await WebServicesClient.$requiredSignIn.withValue(client.signIn) {
      await engine.call { await engine.reportState(to: delegate) }
      try await checkAccount(client)
      return await body(self)
    }
    if let failure { throw failure }
  }

  /// Finds out who is signed in and reports a change.
  private func checkAccount(_ client: WebServicesClient) async throws {
    guard client.takesUsers else { return }
    guard !Task.isCancelled else { throw CKError(.operationCancelled, "The sync was cancelled.") }
    let user = try await database.signedInUser(client)
    await report(user)
    guard user != nil else { throw CKError(.notAuthenticated, "No user is signed in.") }
  }

  /// Reports who is signed in, nil for no user, if that changed.
  func report(_ user: CKRecord.ID?) async {
    await engine.call {
      guard state.value.user != user else { return }
      guard let change = state.update({ $0.note(user: user) }) else { return }
      engine.automation?.endListening()
      await delegate.handleEvent(.accountChange(.init(changeType: change)), syncEngine: engine)
      await engine.reportState(to: delegate)
    }
  }
}

extension CKDatabase {
  /// The database's container; one that shares its client if the program released it.
  func container(_ client: WebServicesClient) -> CKContainer { account.container ?? CKContainer(sharing: client) }

  /// Asks the server who is signed in; nil if there is no user.
  ///
  /// An expired token is no sign-out: the same user will probably sign in again, and a sign-out makes apps delete their
  /// data.
  func signedInUser(_ client: WebServicesClient) async throws -> CKRecord.ID? {
    if client.isSignedIn { return try await container(client).userRecordID() }
    guard client.isSignedOut else {
      throw CKError(.notAuthenticated, "The web auth token was rejected. Sign in again.")
    }
    return nil
  }
}

extension CKError {
  /// Converts any error of a call, which is a `CKError` but for those of the program's own transport.
  init(any error: any Error) {
    self = error as? CKError ?? CKError(.internalError, String(describing: error))
  }

  /// Whether an engine keeps a change that failed like this and sends it again. All others are for the app to solve.
  ///
  /// These are the errors that Apple documents, and those after which the change may or may not have taken effect. A
  /// member of an atomic group that failed only because of another stays too: Apple's documentation does not say.
  var keepsChangePending: Bool {
    isTransient || [.notAuthenticated, .operationCancelled, .batchRequestFailed].contains(code)
  }
}
