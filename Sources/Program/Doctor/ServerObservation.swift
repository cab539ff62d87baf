import CloudKit
import CloudSync
import Facts
import Foundation

/// The way to the server, and its reply to the credential.
struct ServerObservation: Sendable {
  /// A reply that needs no credential, or the reason why there is none.
  enum Greeting: Hashable, Sendable {
    /// The seconds that the server's clock is ahead of this machine's; nil without a date in the reply.
    case reply(clockAhead: Double?)
    case failed(String)
  }

  /// The end of the write in a zone of its own.
  enum Write: Hashable, Sendable {
    case done(leftovers: Int)
    case failed(WebServicesError)
    /// The zone was created and could not be deleted.
    case left(zone: String, WebServicesError)
    case notTried(String)
  }

  var url: URL
  var route: ProxySettings.Route
  var scope: SyncStore.Scope?
  var credential: String?
  var reach: ServerReach?
  /// Nil: not tried.
  var greeting: Greeting?
  var user: Result<String, WebServicesError>?
  /// The names of the zones that the server lists.
  var zones: Result<[String], WebServicesError>?
  var write: Write?
}

extension ServerObservation {
  var findings: [Finding] { way + [clock] + account }

  private var host: String { url.host(percentEncoded: false) ?? "the server" }

  /// Why the server was not asked; nil if it was.
  private var obstacle: String? {
    switch (route, reach, greeting) {
    case (.unusable, _, _): "the proxy cannot be used"
    case (_, .notFound, _): "the name of the server is not found"
    case (_, .failed, _): "the server cannot be reached"
    case (_, _, .failed): "the server gave no reply"
    case (_, nil, _), (_, _, nil): "the server was not asked"
    case (_, .connected, .reply): nil
    }
  }

  private var way: [Finding] {
    switch (route, reach) {
    case (.unusable(let reason), _):
      let text = "the proxy cannot be used: \(reason)"
      return [.problem(.proxy, text, "nothing is sent past it", "correct the variable or unset it", status: .usage)]
        + [.name, .connection, .encryption].map { .notTried($0, "the proxy cannot be used") }
    case (_, .notFound(let reason)):
      let name = failure(.name, reason, "check --url and the DNS")
      return [proxy, name] + [.connection, .encryption].map { .notTried($0, "the name is not found") }
    case (_, .failed(let reason)):
      return [
        proxy, named(nil),
        failure(.connection, reason, "check the network, the firewall and --url"),
        .notTried(.encryption, "there is no connection"),
      ]
    case (_, .connected(let address)):
      return [proxy, named(address), connected, encryption]
    case (_, nil):
      return [proxy] + [.name, .connection, .encryption].map { .notTried($0, "the server was not asked") }
    }
  }

  /// The connection, on which a server that does not reply is of no use. With TLS that is the next step's failure.
  private var connected: Finding {
    if case .failed(let reason)? = greeting, !isEncrypted {
      return failure(.connection, reason, "check what listens there, and --url")
    }
    return .ok(.connection, "connected to \(proxied ? "the proxy" : host)")
  }

  private var isEncrypted: Bool { url.scheme?.lowercased() == "https" }

  private func named(_ address: String?) -> Finding {
    if host.contains(":") || host.allSatisfy({ $0.isNumber || $0 == "." }) {
      return .ok(.name, "the URL names an address")
    }
    let who = proxied ? "the proxy" : host
    return .ok(.name, address.map { "\(who) is at \($0)" } ?? "\(who) has an address")
  }

  /// A step that failed on the way to the server.
  private func failure(_ check: Finding.Check, _ reason: String, _ remedy: String) -> Finding {
    .problem(check, reason.withoutFullStop, "nothing can be sent or fetched", remedy, status: .cloudUnreachable)
  }

  private var proxied: Bool { if case .proxy = route { true } else { false } }

  private var proxy: Finding {
    if case .proxy(let proxy) = route { return .ok(.proxy, "requests go through \(proxy)") }
    return .ok(.proxy, "no proxy is used")
  }

  private var encryption: Finding {
    guard isEncrypted else {
      return CKHTTPTransport.isOpen(url)
        ? .warning(.encryption, "plain http is not encrypted", "credentials can be read on the way", "use https")
        : .ok(.encryption, "plain http, on this machine alone")
    }
    switch greeting {
    case .reply: return .ok(.encryption, "TLS, with a valid certificate")
    case .failed(let reason):
      return failure(.encryption, reason, "check the server's certificate, those of this machine and its clock")
    case nil: return .notTried(.encryption, "the server was not asked")
    }
  }

  private var clock: Finding {
    guard case .reply(let ahead)? = greeting else { return .notTried(.clock, obstacle ?? "the server was not asked") }
    guard let ahead else { return .notTried(.clock, "the reply has no date") }
    let off = Format.duration(abs(ahead))
    let text = "this machine's clock is \(off) \(ahead > 0 ? "behind" : "ahead of") the server's"
    let remedy = "set the clock, for example with timedatectl set-ntp true"
    let again = credential == "serverToServer" ? ", and cktop has to sign again by its clock" : ""
    switch abs(ahead) {
    case ..<60: return .ok(.clock, "within \(off) of the server's")
    case ..<600: return .warning(.clock, text, "at 10 min the server refuses signatures", remedy)
    default: return .problem(.clock, text, "the server refuses signatures more than 10 min off\(again)", remedy)
    }
  }

  private var account: [Finding] {
    guard let scope, let user else {
      let reason = obstacle ?? (credential == nil ? "there is no credential" : "the credential cannot be used")
      return [.account, .container, .write].prefix(write == nil ? 2 : 3).map { .notTried($0, reason) }
    }
    let state = AccountState(user, credential: credential, database: scope.database)
    let place = "\(scope.container), \(scope.environment), \(scope.database.rawValue) database"
    var findings: [Finding] = []
    switch user {
    case .success where state.user == nil:
      findings.append(.ok(.account, "the server accepts the API token"))
    case .success(let name):
      let permissions = state.permissions.map { "; may \($0.joined(separator: " and "))" } ?? ""
      findings.append(.ok(.account, "the server accepts the credential of \(name)\(permissions)"))
    case .failure(let error): findings.append(Finding(.account, error.failure))
    }
    switch zones {
    case .success(let names)?: findings.append(.ok(.container, "\(place): \(Words.count(names.count, "zone"))"))
    case .failure(let error)? where error.code.status == .itemsFailed:
      let text = "\(place): \(Words.joined(error.reason, error.code.name))"
      findings.append(.problem(.container, text, nil, "check --container, --environment and --database"))
    case .failure(let error)?: findings.append(Finding(.container, error.failure))
    case nil: findings.append(.notTried(.container, "the account could not be read"))
    }
    return findings + written
  }

  private var written: [Finding] {
    switch write {
    case .done(let leftovers)?:
      let more = leftovers > 0 ? ", and \(Words.count(leftovers, "zone")) of earlier runs" : ""
      return [.ok(.write, "created a zone and deleted it\(more)")]
    case .failed(let error)?: return [Finding(.write, error.failure)]
    case .left(let zone, let error)?:
      let reason = Words.joined(error.reason, error.code.name)
      return [
        .problem(.write, "zone \(zone) was created and not deleted: \(reason)", nil, "run cktop doctor --write again")
      ]
    case .notTried(let reason)?: return [.notTried(.write, reason)]
    case nil: return []
    }
  }
}
