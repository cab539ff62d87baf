import Foundation

/// The web pages that may send requests over HTTP. A browser names a page's origin in its requests, and it also reaches
/// this machine under a foreign host name that resolves to it.
enum WebAccess {
  /// Whether a host name is this machine's own.
  static func isLoopback(_ host: String) -> Bool {
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    let isAddress = parts.count == 4 && parts.allSatisfy { $0.first?.isNumber == true && UInt8($0) != nil }
    return isAddress && parts[0] == "127" || ["::1", "localhost"].contains(host.lowercased())
  }

  /// Returns the reason to refuse a request; `nil` admits it.
  static func refusal(_ request: EmulatorRequest, _ configuration: EmulatorConfiguration) -> String? {
    if let origin = request.header("origin"), !admits(origin, configuration) {
      let advice = normalized(origin).map { "; start the server with --allow-origin \($0)" } ?? ""
      return "requests of web pages from \(origin) are refused\(advice)"
    }
    // Links, images and windows that a page opens name no origin.
    if request.header("sec-fetch-site") == "cross-site", request.header("origin") == nil,
      !(request.header("referer").map { admits($0, configuration) } ?? false)
    {
      return "requests of other web pages are refused"
    }
    // Without authentication, a page under a foreign name could do everything; with it, it could sign in. An address
    // cannot be made to lead elsewhere.
    if !configuration.isGuarded || request.path == SignInPages.path, let host = request.hostName, !isLoopback(host),
      !isAddress(host),
      !configuration.allowedOrigins.contains(where: { URLComponents(string: $0)?.host == host.lowercased() })
    {
      return
        "the host \(host) is not this machine; use 127.0.0.1, or start the server with --allow-origin http://\(host)"
    }
    return nil
  }

  /// Whether pages of an origin may send requests and read replies.
  static func admits(_ origin: String, _ configuration: EmulatorConfiguration) -> Bool {
    admitted(origin, configuration) != nil
  }

  /// Returns an origin as browsers send it, if its pages may send requests and read replies.
  static func admitted(_ origin: String, _ configuration: EmulatorConfiguration) -> String? {
    guard let name = normalized(origin), let host = URLComponents(string: name)?.host else { return nil }
    let isAdmitted =
      isLoopback(host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host)
      || configuration.allowedOrigins.contains { normalized($0) == name }
    return isAdmitted ? name : nil
  }

  /// Returns the origin of a URL as browsers send it: in lower case and without the default port; `nil` for anything
  /// else.
  static func normalized(_ url: String) -> String? {
    guard let parts = URLComponents(string: url.lowercased()), let scheme = parts.scheme, let host = parts.host,
      ["http", "https"].contains(scheme), !host.isEmpty, parts.user == nil
    else { return nil }
    let port = parts.port == (scheme == "http" ? 80 : 443) ? nil : parts.port
    return "\(scheme)://\(host)\(port.map { ":\($0)" } ?? "")"
  }

  private static func isAddress(_ host: String) -> Bool {
    host.contains(":") || host.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { UInt8($0) != nil }
  }
}

extension EmulatorConfiguration {
  /// Returns an origin in the form that `allowedOrigins` compares; `nil` if the text is not the origin of web pages.
  public static func origin(_ text: String) -> String? {
    guard let parts = URLComponents(string: text), ["", "/"].contains(parts.path), parts.query == nil,
      parts.fragment == nil
    else { return nil }
    return WebAccess.normalized(text)
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
