internal import Foundation

extension NSCoder {
  /// Archives a value that has no class.
  func encodeAsJSON(_ value: some Encodable, forKey key: String) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    guard let data = try? encoder.encode(value) else { preconditionFailure("A value could not be archived.") }
    encode(NSData(data: data), forKey: key)
  }

  /// Reads a value that has no class; nil where it is missing or damaged.
  func decoded<Value: Decodable>(_ type: Value.Type, forKey key: String) -> Value? {
    guard let data = object(NSData.self, forKey: key) else { return nil }
    return try? JSONDecoder().decode(type, from: Data(referencing: data))
  }
}
