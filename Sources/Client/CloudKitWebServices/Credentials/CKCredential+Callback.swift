public import Foundation

extension CKCredential {
  /// Returns the credential of a user who signed in, from the URL that the sign-in page redirected to.
  ///
  /// This is the callback URL of the API token, or one whose scheme is `cloudkit-` and the container's identifier in
  /// lower case.
  ///
  /// - Throws: `CKCredentialError` if the URL has no token or belongs to another container.
  public static func webAuth(
    apiToken: String,
    callback: URL,
    container: String
  ) throws(CKCredentialError) -> CKCredential {
    .webAuth(apiToken: apiToken, webAuthToken: try webAuthToken(inCallback: callback, container: container))
  }

  /// Returns the token in a callback URL, from `ckWebAuthToken` or `ckSession` (reference 1.4).
  package static func webAuthToken(inCallback url: URL, container: String) throws(CKCredentialError) -> String {
    if let scheme = url.scheme?.lowercased(), scheme.hasPrefix("cloudkit-"),
      scheme != "cloudkit-\(container.lowercased())"
    {
      throw CKCredentialError("The sign-in was not for the container \(container).")
    }
    let items = (url.query(percentEncoded: true) ?? "").split(separator: "&").map { item in
      item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    }
    for name in ["ckWebAuthToken", "ckSession"] {
      guard let value = items.first(where: { $0[0] == name && $0.count == 2 })?[1].removingPercentEncoding,
        !value.isEmpty
      else { continue }
      return repaired(token: value)
    }
    throw CKCredentialError("The callback URL has no token: it contains neither ckWebAuthToken nor ckSession.")
  }

  /// Restores the plus signs of a token. A token from a callback URL may have spaces in their place.
  package static func repaired(token: String) -> String {
    token.replacingOccurrences(of: " ", with: "+")
  }
}
