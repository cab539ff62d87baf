public import Foundation

/// A point in the history of a database or a zone. Opaque; compared by value, never for order.
///
/// Keep it only after what came with it is stored. Tokens of databases and of zones are not interchangeable.
///
/// `@unchecked Sendable`, since the compiler does not check what can be subclassed: all of it is immutable.
open class CKServerChangeToken: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
  /// The token as the wire spells it.
  package let wire: String

  package init(wire: String) { self.wire = wire }

  /// Reads an archived token; nil where it is missing.
  public required init?(coder: NSCoder) {
    // Apple's archives have the token's bytes, which Web Services spell in base64.
    let bytes = coder.object(NSData.self, forKey: "ChangeTokenData")?.base64EncodedString()
    guard let wire = coder.string(forKey: "ChangeToken") ?? bytes else { return nil }
    self.wire = wire
  }

  /// Archives the token.
  open func encode(with coder: NSCoder) { coder.encode(NSString(string: wire), forKey: "ChangeToken") }

  /// Always true.
  public static var supportsSecureCoding: Bool { true }
  /// The token itself, which never changes.
  open func copy(with zone: NSZone? = nil) -> Any { self }
  /// Whether the other object is the same token.
  public override func isEqual(_ object: Any?) -> Bool { (object as? CKServerChangeToken)?.wire == wire }
  /// Equal for equal tokens.
  public override var hash: Int { wire.hashValue }
}
