import Foundation

/// Takes secrets out of texts that came from elsewhere: answers of servers may quote what they were asked.
struct Redactor: Sendable {
  private let secrets: [String]

  /// - Parameter settings: Where this process's own secrets are.
  init(_ settings: Settings, storePath: String?) {
    var secrets = [settings.apiToken?.value, settings.webAuthToken?.value].compactMap { $0 }
    if let path = storePath, let configured = settings.webAuthToken?.value,
      let kept = KeptToken(storePath: path, configured: configured).read()
    {
      secrets.append(kept)
    }
    self.secrets = secrets.filter { $0.count >= 4 }.sorted { $0.count > $1.count }
  }

  /// The text with secrets blotted out.
  func redact(_ text: String) -> String {
    var text = text
    for secret in secrets { text = text.replacingOccurrences(of: secret, with: "********") }
    // Tokens of other people and other times, by the names under which they travel.
    for name in ["ckWebAuthToken", "ckAPIToken", "ckSession", "webAuthToken"] {
      text = text.replacingOccurrences(
        of: "(\(name)[\"']?\\s*[=:]\\s*[\"']?)[^\"'&\\s,}]+",
        with: "$1********",
        options: .regularExpression
      )
    }
    return text
  }
}
