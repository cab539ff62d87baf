public import Foundation
internal import JSONText

/// Values as JSON: as text, as data, as a dictionary, and in files.
///
/// The keys of objects are sorted, so that equal values have equal bytes. Dates are seconds since 2001, and data is
/// base64, as `JSONEncoder` writes them.
extension Encodable {
  /// The JSON text; nil for a value that JSON cannot represent.
  public var asString: String? { jsonData.map { String(decoding: $0, as: UTF8.self) } }

  /// The JSON document; nil for a value that JSON cannot represent.
  public var jsonData: Data? { try? encoded(for: nil) }

  /// The properties as untyped values; nil for a value that is not an object in JSON.
  ///
  /// JSON has one type of number: a `Double` without a fraction is an `Int` here.
  public var asDictionary: [String: Any]? { json?.untyped as? [String: Any] }

  /// The elements as untyped values; nil for a value that is not an array in JSON.
  public var asArray: [Any]? { json?.untyped as? [Any] }

  /// Saves the value as JSON in the default file of its type.
  ///
  /// - Throws: ``JSONFileError``. The previous contents of the file are kept then.
  public func save() throws { try save(in: nil) }

  /// Saves the value as JSON in a file of the documents folder.
  ///
  /// - Parameter file: The name of the file, with or without `.json`; nil for the default file of the type.
  /// - Throws: ``JSONFileError``. The previous contents of the file are kept then.
  public func save(in file: String?) throws { try save(in: DefaultFile.create(for: Self.self, named: file)) }

  /// Saves the value as JSON in a file, which is replaced as a whole or not at all.
  ///
  /// - Throws: ``JSONFileError``. The previous contents of the file are kept then.
  public func save(in url: URL) throws {
    let data = try encoded(for: url)
    do {
      try data.write(to: url, options: .atomic)
    } catch {
      throw JSONFileError(file: url, fileSystem: error)
    }
  }

  private var json: JSON? { jsonData.flatMap { try? JSON(json: $0) } }

  private func encoded(for file: URL?) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do {
      return try encoder.encode(self)
    } catch {
      throw JSONFileError(file: file, coding: error)
    }
  }
}
