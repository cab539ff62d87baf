import Foundation

/// Decides which web pages may send requests over HTTP. A browser sends a page's origin with them, and reaches this machine
/// also under a name that somebody else's name server leads here.
enum WebAccess {
  /// Whether a host name is this machine's own.
  static func isLoopback(_ host: String) -> Bool { ["127.0.0.1", "::1", "localhost"].contains(host.lowercased()) }

  /// Returns the reason to refuse a request; `nil` admits it.
  static func refusal(_ request: EmulatorRequest, _ configuration: EmulatorConfiguration) -> String? {
    if let origin = request.header("origin"), !admits(origin, of: request, configuration) {
      return "requests of web pages from \(origin) are refused; start the server with --allow-origin \(origin)"
    }
    // Without authentication, a page under a foreign name could do everything.
    if !configuration.isGuarded, let host = request.hostName, !isLoopback(host) {
      return "the host \(host) is not this machine; use 127.0.0.1 or localhost"
    }
    return nil
  }

  /// Whether pages of an origin may read replies.
  static func admits(_ origin: String, of request: EmulatorRequest, _ configuration: EmulatorConfiguration) -> Bool {
    if configuration.allowedOrigins.contains(origin) { return true }
    guard let url = URLComponents(string: origin), ["http", "https"].contains(url.scheme), let host = url.host else {
      return false
    }
    let name = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    return isLoopback(name) || origin == "\(url.scheme ?? "")://\(request.header("host") ?? "")"
  }
}

extension EmulatorRequest {
  /// The host that the request names, without its port.
  var hostName: String? {
    header("host").map { host in
      String(host.hasPrefix("[") ? host.dropFirst().prefix { $0 != "]" } : host.prefix { $0 != ":" })
    }
  }
}
