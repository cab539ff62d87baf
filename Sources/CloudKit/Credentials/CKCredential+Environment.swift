internal import Foundation

extension CKCredential {
  /// The credential that the `CLOUDKIT_*` variables of an environment describe, or nil where they describe none.
  ///
  /// `CLOUDKIT_KEY_ID` with `CLOUDKIT_KEY_FILE` (the path of a private key in PEM form) makes a server-to-server key;
  /// `CLOUDKIT_API_TOKEN`, alone or with `CLOUDKIT_WEB_AUTH_TOKEN`, a token. Blank variables count as absent.
  ///
  /// - Throws: `CKCredentialError` when half of a pair is missing, both kinds are set, or the key file is unusable.
  public static func fromEnvironment(_ environment: [String: String]) throws(CKCredentialError) -> CKCredential? {
    func value(_ name: String) -> String? {
      guard let text = environment[name]?.trimmingCharacters(in: .whitespacesAndNewlines), !text.isEmpty else {
        return nil
      }
      return text
    }

    let (keyID, keyFile) = (value("CLOUDKIT_KEY_ID"), value("CLOUDKIT_KEY_FILE"))
    let (apiToken, webAuthToken) = (value("CLOUDKIT_API_TOKEN"), value("CLOUDKIT_WEB_AUTH_TOKEN"))
    if keyID != nil || keyFile != nil, apiToken != nil || webAuthToken != nil {
      throw CKCredentialError(
        "CLOUDKIT_KEY_ID/CLOUDKIT_KEY_FILE and CLOUDKIT_API_TOKEN/CLOUDKIT_WEB_AUTH_TOKEN are both set: unset one kind."
      )
    }
    switch (keyID, keyFile, apiToken, webAuthToken) {
    case (nil, nil, nil, nil): return nil
    case (let keyID?, let keyFile?, _, _): return .serverToServerKey(try .load(keyID: keyID, file: keyFile))
    case (_?, nil, _, _): throw CKCredentialError("CLOUDKIT_KEY_ID is set without CLOUDKIT_KEY_FILE: set both.")
    case (nil, _?, _, _): throw CKCredentialError("CLOUDKIT_KEY_FILE is set without CLOUDKIT_KEY_ID: set both.")
    case (nil, nil, let apiToken?, nil): return .apiToken(apiToken)
    case (nil, nil, nil, _?):
      throw CKCredentialError("CLOUDKIT_WEB_AUTH_TOKEN is set without CLOUDKIT_API_TOKEN: set both.")
    case (nil, nil, let apiToken?, let webAuthToken?):
      // A token copied out of a sign-in callback comes with its plus signs read as spaces.
      let repaired = webAuthToken.replacingOccurrences(of: " ", with: "+")
      return .webAuth(apiToken: apiToken, webAuthToken: repaired)
    }
  }
}
