public import Foundation

/// The identifier of a notification, if the server sent one. It is not unique for each delivery (reference 5.10).
///
/// Use it by its name `CKNotification.ID`.
public final class CKNotificationID: NSObject, CKArchivable, CKImmutable, Sendable {
  let value: String

  init(_ value: String) { self.value = value }

  /// Reads an archived identifier; nil if it is missing.
  public init?(coder: NSCoder) {
    guard let value = coder.string(forKey: "NotificationID") else { return nil }
    self.value = value
  }

  /// Archives the identifier.
  public func encode(with coder: NSCoder) { coder.encode(NSString(string: value), forKey: "NotificationID") }

  /// Whether the other object is the same identifier.
  public override func isEqual(_ object: Any?) -> Bool { (object as? CKNotificationID)?.value == value }
  /// A hash value that is the same for equal identifiers.
  public override var hash: Int { value.hashValue }
  /// The identifier as the server sent it.
  public override var description: String { value }
}
