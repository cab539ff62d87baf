package import Foundation

/// The proxy of requests over `https`, from the environment variables that other programs use too.
///
/// `HTTPS_PROXY` names the proxy, such as `http://proxy.example.org:3128` or `proxy.example.org:3128`, with a user and
/// a password if it needs them. `NO_PROXY` lists what is reached directly, separated by commas: a name stands for
/// itself and all names below it, an address for itself, `*` for everything, and a port behind a colon limits an entry
/// to it. Names in lower case come first, as in curl. Requests to this machine are sent directly, and so are those over
/// `http`, which lead to servers for tests.
package struct ProxySettings: Sendable {
  /// An HTTP proxy.
  package struct Proxy: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    package var host: String
    package var port: Int
    /// The user and the password.
    var credentials: Credentials?

    struct Credentials: Hashable {
      var user: String
      var password: String
    }

    /// The host and port, without the user.
    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
    package var customMirror: Mirror { Mirror(self, children: ["proxy": description]) }
  }

  /// The way to a URL.
  package enum Route: Sendable, Hashable {
    case direct
    case proxy(Proxy)
    /// The environment names a proxy that cannot be used, with the reason. Nothing is sent past it.
    case unusable(String)
  }

  private struct Exception: Sendable {
    var host: String
    var port: Int?

    init(_ text: Substring) {
      // An address of version 6 has several colons, and stands in brackets where a port follows.
      if text.first == "[", let end = text.firstIndex(of: "]") {
        host = String(text[text.index(after: text.startIndex)..<end])
        port = Int(text[end...].dropFirst(2))
      } else if text.filter({ $0 == ":" }).count == 1, let colon = text.firstIndex(of: ":") {
        host = String(text[..<colon])
        port = Int(text[colon...].dropFirst())
      } else {
        (host, port) = (String(text), nil)
      }
      if host.count > 1, host.hasPrefix("*") { host.removeFirst() }
      if host.hasPrefix(".") { host.removeFirst() }
    }

    func covers(_ other: String, _ otherPort: Int) -> Bool {
      // The last part of a name is no number, so nothing is below an address.
      let isBelow = other.hasSuffix("." + host) && other.last?.isNumber == false
      return (port ?? otherPort) == otherPort && (host == "*" || other == host || isBelow)
    }
  }

  /// The way to everything that is no exception.
  let proxy: Route
  /// The variable that names the proxy; nil if none does.
  package let variable: String?
  private let exceptions: [Exception]

  /// Reads the settings.
  package init(environment: [String: String]) {
    func value(_ name: String) -> (name: String, text: String)? {
      [name.lowercased(), name].lazy.compactMap { key in environment[key].map { (key, $0) } }.first { !$0.1.isEmpty }
    }
    let named = value("HTTPS_PROXY")
    proxy = named.map { Self.proxy($0.text, named: $0.name) } ?? .direct
    variable = named?.name
    exceptions = (value("NO_PROXY")?.text ?? "").lowercased().split { $0 == "," || $0.isWhitespace }.map(Exception.init)
  }

  /// The settings of a process without these variables: everything is sent directly.
  package static let none = ProxySettings(environment: [:])

  /// Returns the way to a URL.
  package func route(to url: URL) -> Route {
    guard url.scheme?.lowercased() == "https", let host = url.host(percentEncoded: false)?.lowercased(), !url.isLoopback
    else { return .direct }
    let plain = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    return exceptions.contains { $0.covers(plain, url.port ?? 443) } ? .direct : proxy
  }

  private static func proxy(_ text: String, named name: String) -> Route {
    // The text may hold a password, so no message quotes it.
    let invalid = Route.unusable("\(name) is not the address of a proxy, such as http://proxy.example.org:3128")
    let whole = text.contains("://") ? text : "http://\(text)"
    guard let parts = URLComponents(string: whole), let scheme = parts.scheme?.lowercased() else { return invalid }
    guard scheme == "http" else {
      return .unusable("\(name) names a proxy over \(scheme.prefix(16)); only proxies over http can be used")
    }
    let port = parts.port ?? 80
    guard let host = parts.host, !host.isEmpty, (1...65_535).contains(port) else { return invalid }
    var proxy = Proxy(host: host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host, port: port)
    if let user = parts.user, !user.isEmpty {
      proxy.credentials = Proxy.Credentials(user: user, password: parts.password ?? "")
    }
    return .proxy(proxy)
  }
}
