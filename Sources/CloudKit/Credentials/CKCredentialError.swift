public import Foundation

/// Why a credential cannot be used: one line that says what is wrong and what to do. It never quotes a secret.
public struct CKCredentialError: Error, Hashable, Sendable, LocalizedError, CustomStringConvertible {
  /// What is wrong and what to do.
  public let message: String

  /// Makes an error.
  public init(_ message: String) { self.message = message }

  /// The same as `message`.
  public var description: String { message }
  /// The same as `message`.
  public var errorDescription: String? { message }
}
