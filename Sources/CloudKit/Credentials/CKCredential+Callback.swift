public import Foundation

extension CKCredential {
  /// The credential of the person who signed in, out of the URL that the sign-in page led them back to.
  ///
  /// That is the URL that the API token was set up with, or one of the scheme `cloudkit-` and the container's identifier in
  /// lower case.
  ///
  /// - Throws: `CKCredentialError` when the URL holds no token, or belongs to another container.
  public static func webAuth(
    apiToken: String,
    callback: URL,
    container: String
  ) throws(CKCredentialError) -> CKCredential {
    .webAuth(apiToken: apiToken, webAuthToken: try webAuthToken(inCallback: callback, container: container))
  }

  /// The token in a callback URL, as `ckWebAuthToken` or `ckSession` (reference 1.4).
  static func webAuthToken(inCallback url: URL, container: String) throws(CKCredentialError) -> String {
    if let scheme = url.scheme?.lowercased(), scheme.hasPrefix("cloudkit-"),
      scheme != "cloudkit-\(container.lowercased())"
    {
      throw CKCredentialError("The sign-in was for another container than \(container).")
    }
    let items = (url.query(percentEncoded: true) ?? "").split(separator: "&").map { item in
      item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    }
    for name in ["ckWebAuthToken", "ckSession"] {
      guard let value = items.first(where: { $0[0] == name && $0.count == 2 })?[1].removingPercentEncoding,
        !value.isEmpty
      else { continue }
      // Whoever decoded the URL on its way may have taken plus signs for spaces.
      return value.replacingOccurrences(of: " ", with: "+")
    }
    throw CKCredentialError("The sign-in brought no token: the callback URL has neither ckWebAuthToken nor ckSession.")
  }
}
