package import Foundation

extension URL {
  /// Whether the host is this machine.
  var isLoopback: Bool {
    guard let host = host(percentEncoded: false)?.lowercased() else { return false }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return ["localhost", "::1", "[::1]"].contains(host)
      || parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
  }

  /// The URL's scheme, host and port; nil if it has no host or is not an HTTP or HTTPS URL.
  package var origin: URL? {
    // The host of the components keeps the brackets of an IPv6 address.
    guard let parts = URLComponents(url: self, resolvingAgainstBaseURL: true), let scheme = parts.scheme?.lowercased(),
      ["http", "https"].contains(scheme), let host = parts.percentEncodedHost, !host.isEmpty
    else { return nil }
    return URL(string: "\(scheme)://\(host)\(parts.port.map { ":\($0)" } ?? "")")
  }

  /// The longest accepted address of a sign-in page, in bytes.
  private static let longestSignInPage = 2048

  /// Makes the URL of a sign-in page from a reply; nil if it must not be offered to a person.
  ///
  /// The page asks for a password, so it must be `https`, or a server on this machine, and must not hide its host
  /// behind a user name.
  package init?(signInPage text: String) {
    guard text.utf8.count <= Self.longestSignInPage, let url = URL(string: text),
      url.absoluteString.utf8.count <= Self.longestSignInPage, let scheme = url.scheme?.lowercased(),
      let host = url.host(), !host.isEmpty, url.user() == nil, url.password() == nil,
      scheme == "https" || scheme == "http" && url.isLoopback
    else { return nil }
    self = url
  }
}
