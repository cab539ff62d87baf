import CloudKit
import CloudSync
package import Facts
import Foundation

/// The settings in effect, and what is wrong with them.
package struct ConfigurationObservation: Sendable {
  /// A setting that a source gives.
  package struct Setting: Sendable {
    package var name: String
    package var source: String

    package init(_ name: String, source: String) { (self.name, self.source) = (name, source) }
  }

  /// The settings that do not have their defaults.
  package var settings: [Setting]
  package var failures: [CommandFailure]

  package init(settings: [Setting], failures: [CommandFailure] = []) {
    (self.settings, self.failures) = (settings, failures)
  }

  var findings: [Finding] {
    guard failures.isEmpty else { return failures.map { Finding(.configuration, $0) } }
    let places = settings.map { "\($0.name) (\($0.source))" }.joined(separator: ", ")
    let text =
      settings.isEmpty ? "all settings have their defaults" : "settings: \(places); the others have their defaults"
    return [.ok(.configuration, text)]
  }
}

/// The credential, as far as this machine knows it.
struct CredentialObservation: Sendable {
  /// Its kind, by its name in the JSON; nil: there is none.
  var name: String?
  /// Why it cannot be used; nil if it can, as far as is known here.
  var failure: CommandFailure?
  /// The file of the saved web auth token, if others can access it.
  var openFile: String?

  var findings: [Finding] {
    if let failure { return [Finding(.credential, failure)] }
    if let openFile {
      let text = "other users can access the web auth token in \(openFile)"
      return [.problem(.credential, text, "they can act as its user", "run chmod 600 \(openFile.asArgument)")]
    }
    guard let name else { return [Finding(.credential, .noCredential())] }
    let kind = Words.credential(name)
    return switch name {
    case "serverToServer": [.ok(.credential, "\(kind): the key file is private, and signs")]
    case "webAuth": [.ok(.credential, "\(kind), and the API token that it needs")]
    default:
      [
        .warning(
          .credential,
          "\(kind) without a user",
          "only the public database can be read",
          "set CLOUDKIT_WEB_AUTH_TOKEN to the token of a user"
        )
      ]
    }
  }
}

extension CredentialObservation {
  /// Reads the credential of a session, and signs with it. Sends nothing.
  init(of session: StoreSession<some StoreSettings>) {
    do {
      name = try session.credentialName()
      guard name != nil, session.settings.basePath != nil else { return }
      // Reads a key file, which must be private, and compares its kind with the database.
      if case .serverToServer(let keyID, let file) = try session.settings.credential() {
        let key = try CKServerToServerKey.load(keyID: keyID, file: file)
        _ = try key.signatureHeaders(body: Data(), path: "/", date: Date())
      }
      _ = try session.client(session.scope())
      openFile = session.kept?.openFile
    } catch {
      failure = CommandFailure(error) ?? CommandFailure("the credential cannot sign: \(error)", .personNeeded)
    }
  }
}
