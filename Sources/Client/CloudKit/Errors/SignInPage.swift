internal import Foundation

/// The sign-in page in an error's `userInfo`. Its description hides the URL, because errors are printed with their
/// `userInfo` and the page belongs to one person's sign-in attempt. It is an object because errors are archived with
/// their `userInfo`.
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
  override var description: String { "(hidden)" }
}
