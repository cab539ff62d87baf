import CloudKit
import CloudKitContract
import CloudSync
import Foundation

/// Asking the server: one connection, one request without a credential, then the credential's requests. What fails
/// leaves the rest untried.
extension ServerObservation {
  /// The maximum time for each request.
  private static let timeout = Duration.seconds(10)

  /// Asks the server of a session.
  ///
  /// - Parameter writes: whether to create a zone and delete it again.
  init(of session: StoreSession<some StoreSettings>, writes: Bool) async {
    self.init(url: session.settings.serverURL, route: session.route)
    scope = try? session.scope()
    credential = try? session.credentialName()
    if writes { write = .notTried("the server was not asked") }
    if case .unusable = route { return }
    let reach = await ServerReach.connect(to: url, route)
    self.reach = reach
    guard case .connected = reach else { return }
    await greet()
    guard case .reply = greeting, let scope, let client = try? session.client(scope, timeout: Self.timeout) else {
      return
    }
    await ask(client, scope, session)
    if writes { write = await Self.write(client, scope, zones) }
  }

  /// Sends a request without a credential, whose reply has the server's time whatever its status.
  private mutating func greet() async {
    // Without a credential nothing secret is sent.
    let transport = CKHTTPTransport(baseURL: url, timeout: Self.timeout, allowsHTTP: true)
    do throws(CKTransportError) {
      let start = Date()
      let response = try await transport.send(CKTransportRequest(method: "GET", path: "/"))
      // The date was written between the request and its reply, and is cut to seconds.
      let here = start.addingTimeInterval(Date().timeIntervalSince(start) / 2 - 0.5)
      greeting = .reply(clockAhead: response.date(now: here)?.timeIntervalSince(here))
    } catch {
      greeting = .failed(error.message)
    }
    await transport.shutdown()
  }

  private mutating func ask(
    _ client: WebServicesClient,
    _ scope: SyncStore.Scope,
    _ session: StoreSession<some StoreSettings>
  ) async {
    let user = await session.user(client, scope)
    self.user = user
    guard case .success = user else { return }
    do throws(WebServicesError) {
      zones = .success(
        try await client.listZones(in: scope.database).compactMap { zone in
          if case .item(let zone) = zone { zone.zoneID.zoneName } else { nil }
        }
      )
    } catch {
      zones = .failure(error)
    }
  }

  // MARK: - Writing

  /// Creates a zone and deletes it, whatever happens in between, with those of runs that were killed.
  ///
  /// It saves no record: its type would be added to the schema of development, and production would reject it.
  private static func write(
    _ client: WebServicesClient,
    _ scope: SyncStore.Scope,
    _ zones: Result<[String], WebServicesError>?
  ) async -> Write {
    guard scope.database == .private else {
      return .notTried("only a private database has zones of its own")
    }
    guard case .success(let names)? = zones else { return .notTried("the zones could not be listed") }
    let zone = ScratchZone.write.newName()
    let failure = await modify(.create, [zone], client)
    // A zone may have been created although the reply was lost.
    let leftovers = names.filter(ScratchZone.write.made)
    let remains = await modify(.delete, [zone] + leftovers, client)
    if let failure { return .failed(failure) }
    return remains.map { .left(zone: zone, $0) } ?? .done(leftovers: leftovers.count)
  }

  /// Applies an operation to zones. Returns the first error; a zone to delete that is missing is none.
  private static func modify(
    _ kind: WireZoneOperation.Kind,
    _ zones: [String],
    _ client: WebServicesClient
  ) async -> WebServicesError? {
    do throws(WebServicesError) {
      let results = try await client.modifyZones(
        zones.map { WireZoneOperation(kind, WireZoneID(zoneName: $0)) },
        in: .private
      )
      return results.lazy.compactMap { result -> WebServicesError? in
        guard case .failure(_, let error) = result, kind == .create || error.code != .zoneNotFound else { return nil }
        return error
      }.first
    } catch {
      return error
    }
  }
}
