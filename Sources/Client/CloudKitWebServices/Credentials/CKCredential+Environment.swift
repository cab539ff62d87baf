internal import Foundation

/// The names of the environment variables for a container and its credential.
package enum EnvironmentVariable: String, CaseIterable {
  case container = "CLOUDKIT_CONTAINER"
  case environment = "CLOUDKIT_ENVIRONMENT"
  case database = "CLOUDKIT_DATABASE"
  case url = "CLOUDKIT_URL"
  case keyID = "CLOUDKIT_KEY_ID"
  case keyFile = "CLOUDKIT_KEY_FILE"
  case apiToken = "CLOUDKIT_API_TOKEN"
  case webAuthToken = "CLOUDKIT_WEB_AUTH_TOKEN"

  /// Returns the value without white space around it; nil if it is blank.
  package func value(in environment: [String: String]) -> String? {
    let text = environment[rawValue]?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
    return text.isEmpty ? nil : text
  }
}

extension CKCredential {
  /// Reads a credential from `CLOUDKIT_*` environment variables. Returns nil if none is set.
  ///
  /// `CLOUDKIT_KEY_ID` and `CLOUDKIT_KEY_FILE` (the path of a private key in PEM form) make a server-to-server key.
  /// `CLOUDKIT_API_TOKEN`, alone or with `CLOUDKIT_WEB_AUTH_TOKEN`, makes a token credential. Blank variables count as
  /// unset.
  ///
  /// - Throws: `CKCredentialError` if half of a pair is missing, both kinds are set, or the key file is unusable.
  public static func fromEnvironment(_ environment: [String: String]) throws(CKCredentialError) -> CKCredential? {
    func value(_ variable: EnvironmentVariable) -> String? { variable.value(in: environment) }

    let (keyID, keyFile) = (value(.keyID), value(.keyFile))
    let (apiToken, webAuthToken) = (value(.apiToken), value(.webAuthToken))
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
      return .webAuth(apiToken: apiToken, webAuthToken: repaired(token: webAuthToken))
    }
  }
}
