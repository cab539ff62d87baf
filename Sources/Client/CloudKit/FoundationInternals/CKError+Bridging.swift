public import Foundation

/// Lets `error as? CKError` and `catch let error as CKError` match an `NSError` of CloudKit's domain, as on Apple's
/// systems. On Linux a cast looks for this conformance.
extension CKError: _ObjectiveCBridgeable {
  /// The Foundation type of the error.
  public typealias _ObjectiveCType = NSError

  /// Returns the error as an `NSError`.
  public func _bridgeToObjectiveC() -> NSError { _nsError }

  /// Converts an error of CloudKit's domain; traps for any other.
  public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout CKError?) {
    result = CKError(_nsError: source)
  }

  /// Converts an error of CloudKit's domain; returns false for any other.
  public static func _conditionallyBridgeFromObjectiveC(_ source: NSError, result: inout CKError?) -> Bool {
    guard source.domain == CKErrorDomain else { return false }
    result = CKError(_nsError: source)
    return true
  }

  /// Converts an error of CloudKit's domain; traps for any other. Nil becomes an internal error.
  public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> CKError {
    source.map { CKError(_nsError: $0) } ?? CKError(.internalError)
  }
}
