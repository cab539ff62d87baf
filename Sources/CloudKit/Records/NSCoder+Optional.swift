internal import Foundation

extension NSCoder {
  /// Decodes an object that may be absent. Foundation on Linux ends the process when asked for an absent key.
  func object<Object: NSObject & NSCoding>(_ type: Object.Type, forKey key: String) -> Object? {
    containsValue(forKey: key) ? decodeObject(of: type, forKey: key) : nil
  }

  /// Decodes a text that may be absent.
  func string(forKey key: String) -> String? { object(NSString.self, forKey: key).map { String(describing: $0) } }
}
