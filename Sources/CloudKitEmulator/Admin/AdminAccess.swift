import Foundation

/// Who may use a server's admin endpoint, under `/emulator`.
public struct AdminAccess: Sendable {
  /// What a request has to carry as `Authorization: Bearer …`. Without one only programs on this machine get in, and no
  /// page that a browser shows.
  public var token: String?

  /// The names of this machine for itself.
  static let loopback: Set<String> = ["127.0.0.1", "::1", "localhost"]

  /// Opens the endpoint.
  public init(token: String? = nil) {
    self.token = token
  }

  /// Why a request is not let in; `nil` lets it in.
  func refusal(_ request: EmulatorRequest) -> (status: Int, reason: String)? {
    if let token {
      let given = request.header("authorization") ?? ""
      return Self.areEqual(given, "Bearer \(token)") ? nil : (401, "the admin token is missing or wrong")
    }
    // A page from elsewhere names its origin, or reaches us by a name of its own that leads here.
    guard request.header("origin") == nil, Self.loopback.contains(Self.host(of: request)) else {
      return (403, "only programs on this machine may do this; start the server with an admin token for others")
    }
    return nil
  }

  private static func host(of request: EmulatorRequest) -> String {
    let host = request.header("host") ?? ""
    return String(host.hasPrefix("[") ? host.dropFirst().prefix { $0 != "]" } : host.prefix { $0 != ":" })
  }

  /// Compares in a time that does not tell how much of it is right.
  private static func areEqual(_ first: String, _ second: String) -> Bool {
    let (first, second) = (Array(first.utf8), Array(second.utf8))
    guard first.count == second.count else { return false }
    return zip(first, second).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
