public import Foundation

/// A point in the history of a database or a zone. Opaque; compared by value, never for order.
///
/// Keep it only after what came with it is stored. Tokens of databases and of zones are not interchangeable.
public final class CKServerChangeToken: NSObject, NSSecureCoding, NSCopying, Sendable {
  /// The token as the wire spells it.
  package let wire: String

  package init(wire: String) { self.wire = wire }

  /// Reads an archived token; nil where it is missing.
  public init?(coder: NSCoder) {
    guard let wire = coder.string(forKey: "ChangeToken") else { return nil }
    self.wire = wire
  }

  /// Archives the token.
  public func encode(with coder: NSCoder) { coder.encode(NSString(string: wire), forKey: "ChangeToken") }

  /// Always true.
  public static var supportsSecureCoding: Bool { true }
  /// The token itself, which never changes.
  public func copy(with zone: NSZone? = nil) -> Any { self }
  /// Whether the other object is the same token.
  public override func isEqual(_ object: Any?) -> Bool { (object as? CKServerChangeToken)?.wire == wire }
  /// Equal for equal tokens.
  public override var hash: Int { wire.hashValue }
}
