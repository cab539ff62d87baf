public import Foundation

/// A notification's identity, as far as the server gives one: it is not unique for each delivery (reference 5.10). Use it
/// by its name `CKNotification.ID`.
public final class CKNotificationID: NSObject, NSSecureCoding, NSCopying, Sendable {
  let value: String

  init(_ value: String) { self.value = value }

  /// Reads an archived identifier; nil where it is missing.
  public init?(coder: NSCoder) {
    guard let value = coder.string(forKey: "NotificationID") else { return nil }
    self.value = value
  }

  /// Archives the identifier.
  public func encode(with coder: NSCoder) { coder.encode(NSString(string: value), forKey: "NotificationID") }

  /// Always true.
  public static var supportsSecureCoding: Bool { true }
  /// The identifier itself, which never changes.
  public func copy(with zone: NSZone? = nil) -> Any { self }
  /// Whether the other object is the same identifier.
  public override func isEqual(_ object: Any?) -> Bool { (object as? CKNotificationID)?.value == value }
  /// Equal for equal identifiers.
  public override var hash: Int { value.hashValue }
  /// The server's text.
  public override var description: String { value }
}
