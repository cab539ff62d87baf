public import Foundation

/// The reason why a credential cannot be used, in one line that says what is wrong and what to do. It never contains a
/// secret.
public struct CKCredentialError: Error, Hashable, Sendable, LocalizedError, CustomNSError, CustomStringConvertible {
  /// The problem and its solution.
  public let message: String

  /// Makes an error.
  public init(_ message: String) { self.message = message }

  /// The domain as an `NSError`, which names the module that programs import.
  public static var errorDomain: String { "CloudKit.CKCredentialError" }
  /// The same as `message`.
  public var description: String { message }
  /// The same as `message`.
  public var errorDescription: String? { message }
}
