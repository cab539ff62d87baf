import CloudKit

extension Attempt {
  private static let header = "X-Apple-Request-UUID: "

  /// The part of the reply to a failed request that is kept: its beginning, after the header with its identifier if the
  /// body has none, as where one item of a reply failed.
  static func kept(of error: WebServicesError) -> String? {
    guard let id = error.uuid, error.response?.contains(id) != true else { return error.response }
    return [header + id, error.response].compactMap(\.self).joined(separator: "\n")
  }

  /// The body of the stored reply; nil if there is none.
  package var reply: String? {
    guard let response, response.hasPrefix(Self.header) else { return response }
    return response.firstIndex(of: "\n").map { String(response[$0...].dropFirst()) }
  }

  /// The identifier that the server gave the request, which Apple's support asks for; nil where the reply has none.
  package var requestID: String? {
    // The stored reply is cut, so that it may be no JSON.
    response?.firstMatch(of: #/(?:^X-Apple-Request-UUID: |"uuid"\s*:\s*")([0-9A-Za-z-]{1,64})(?:"|\n|$)/#)
      .map { String($0.1) }
  }
}
