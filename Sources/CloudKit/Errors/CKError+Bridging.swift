public import Foundation

/// Lets `error as? CKError` and `catch let error as CKError` find an `NSError` of CloudKit's domain, as on Apple's systems;
/// on Linux a cast looks for this conformance.
extension CKError: _ObjectiveCBridgeable {
  /// What the error is carried by.
  public typealias _ObjectiveCType = NSError

  /// The error as Foundation carries it.
  public func _bridgeToObjectiveC() -> NSError { _nsError }

  /// Takes an error of CloudKit's domain; traps for any other.
  public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout CKError?) {
    result = CKError(_nsError: source)
  }

  /// Takes an error of CloudKit's domain and no other.
  public static func _conditionallyBridgeFromObjectiveC(_ source: NSError, result: inout CKError?) -> Bool {
    guard source.domain == CKErrorDomain else { return false }
    result = CKError(_nsError: source)
    return true
  }

  /// Takes an error of CloudKit's domain; nothing becomes an internal error.
  public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> CKError {
    source.map { CKError(_nsError: $0) } ?? CKError(.internalError)
  }
}
