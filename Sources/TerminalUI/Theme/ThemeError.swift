/// Why a theme could not be had, in one line for the user.
public struct ThemeError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The file, or the name where no file was found.
  public var source: String
  /// The line in the file, from 1, where it is known.
  public var line: Int?
  /// The key at fault, such as `roles.text.fg`.
  public var key: String?
  /// What is wrong and what would be right.
  public var message: String

  init(_ message: String, source: String, line: Int? = nil, key: String? = nil) {
    self.source = source
    self.line = line
    self.key = key
    self.message = message
  }

  /// `file:line: key: what is wrong`.
  public var description: String {
    let place = sanitize(source) + (line.map { ":\($0)" } ?? "")
    return ([place] + [key, message].compactMap { $0 }.map { sanitize($0) }).joined(separator: ": ")
  }
}
