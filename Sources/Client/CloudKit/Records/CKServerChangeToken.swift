public import Foundation

/// A position in the change feed of a database or a zone. Opaque; tokens can be compared for equality, not for order.
///
/// Save a token only after you have saved the changes that came with it. Tokens of databases and of zones are not
/// interchangeable.
///
/// `@unchecked Sendable`, because the compiler does not check an open class: everything in it is immutable.
open class CKServerChangeToken: NSObject, CKArchivable, NSCopying, @unchecked Sendable {
  /// The token in its wire encoding.
  package let wire: String

  package init(wire: String) { self.wire = wire }

  /// Reads an archived token; nil if it is missing.
  public required init?(coder: NSCoder) {
    // Apple's archives contain the token's bytes, which Web Services encode in base64.
    let bytes = coder.object(NSData.self, forKey: "ChangeTokenData")?.base64EncodedString()
    guard let wire = coder.string(forKey: "ChangeToken") ?? bytes else { return nil }
    self.wire = wire
  }

  /// Archives the token.
  open func encode(with coder: NSCoder) { coder.encode(NSString(string: wire), forKey: "ChangeToken") }

  /// Returns this token, which is immutable.
  open func copy(with zone: NSZone? = nil) -> Any { self }
  /// Whether the other object is the same token.
  public override func isEqual(_ object: Any?) -> Bool { (object as? CKServerChangeToken)?.wire == wire }
  /// A hash value that is the same for equal tokens.
  public override var hash: Int { wire.hashValue }
}
