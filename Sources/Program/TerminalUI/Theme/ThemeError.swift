/// Why a theme could not be had, in one line for the user.
package struct ThemeError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The file, or the name where no file was found.
  package var source: String
  /// The line in the file, from 1, where it is known.
  package var line: Int?
  /// The key at fault, such as `roles.text.fg`.
  package var key: String?
  /// What is wrong and what would be right.
  package var message: String

  init(_ message: String, source: String, line: Int? = nil, key: String? = nil) {
    (self.source, self.line, self.key, self.message) = (source, line, key, message)
  }

  /// `file:line: key: what is wrong`.
  package var description: String {
    let place = sanitize(source) + (line.map { ":\($0)" } ?? "")
    return ([place] + [key, message].compactMap { $0 }.map { sanitize($0) }).joined(separator: ": ")
  }
}
