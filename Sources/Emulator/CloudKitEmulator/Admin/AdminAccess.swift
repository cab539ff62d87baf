import Foundation

/// The access rules of a server's admin endpoint under `/emulator`.
public struct AdminAccess: Sendable {
  /// The token that requests must send as `Authorization: Bearer …`. Without one, only programs on this machine have
  /// access, and no web page does.
  public var token: String?

  /// Creates access rules.
  public init(token: String? = nil) {
    self.token = token
  }

  /// Returns the status and reason for rejecting a request, or `nil` to accept it.
  func refusal(_ request: EmulatorRequest) -> (status: Int, reason: String)? {
    if let token {
      let given = request.header("authorization") ?? ""
      return areEqual(given, "Bearer \(token)") ? nil : (401, "the admin token is missing or wrong")
    }
    // A web page from another host sends its origin, or uses its own host name that resolves to this machine.
    guard request.header("origin") == nil, WebAccess.isLoopback(request.hostName ?? "") else {
      return (403, "only programs on this machine have access; set an admin token to allow others")
    }
    return nil
  }
}
