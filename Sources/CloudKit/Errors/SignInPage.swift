internal import Foundation

/// The page to sign in on as an error carries it: an error is printed with all that it carries, and this belongs to one
/// person's attempt to sign in. An object, because errors are archived with what they carry.
final class SignInPage: NSObject, NSSecureCoding, Sendable {
  let text: String

  init(_ text: String) { self.text = text }

  init?(coder: NSCoder) {
    guard let text = coder.string(forKey: "Page") else { return nil }
    self.text = text
  }

  func encode(with coder: NSCoder) { coder.encode(NSString(string: text), forKey: "Page") }

  static var supportsSecureCoding: Bool { true }
  override func isEqual(_ object: Any?) -> Bool { (object as? SignInPage)?.text == text }
  override var hash: Int { text.hashValue }
  override var description: String { "(not shown)" }
}
