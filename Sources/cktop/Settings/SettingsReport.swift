import CloudKit
import CloudSync
import Foundation

/// One line of `config check`.
struct SettingLine: Hashable, Sendable {
  let key: SettingKey
  /// Nil if not set; masked if it is a secret.
  let value: String?
  let source: String
}

extension Settings {
  /// The settings in effect and their sources, with secrets masked.
  var report: [SettingLine] {
    [
      line(.profile, profile),
      line(.container, container),
      line(.environment, Sourced(environment.value.rawValue, environment.source)),
      line(.database, Sourced(database.value.rawValue, database.source)),
      line(.url, Sourced(url.value.absoluteString, url.source)),
      line(.store, store),
      line(.policy, policyName),
      line(.readOnly, Sourced(isReadOnly.value ? "true" : "false", isReadOnly.source)),
      line(.allowHTTP, Sourced(allowsHTTP.value ? "true" : "false", allowsHTTP.source)),
      line(
        .unicodeNames,
        Sourced(acceptsUnicodeNames.value ? "true" : "false", acceptsUnicodeNames.source)
      ),
      line(.theme, theme),
      line(.staleAfter, Sourced("\(staleAfter.value / 1000)s", staleAfter.source)),
      line(.keyID, keyID),
      line(.keyFile, keyFile),
      line(.apiToken, apiToken),
      line(.webAuthToken, webAuthToken),
    ]
  }

  private func line(_ key: SettingKey, _ setting: Sourced<String>?) -> SettingLine {
    guard let setting else { return SettingLine(key: key, value: nil, source: "not set") }
    // The same length for all, because a length reveals something about a secret.
    let value = key.isSecret ? "********" : setting.value
    return SettingLine(key: key, value: value, source: setting.source.place(of: key))
  }
}
