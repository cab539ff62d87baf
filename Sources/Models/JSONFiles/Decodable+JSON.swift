public import Foundation
internal import JSONText

/// Values from JSON: from text, from data, from untyped values, and from files. Each call throws ``JSONFileError``.
extension Decodable {
  /// Returns the value in a JSON document.
  public static func load(from data: Data) throws -> Self { try decoded(from: data, in: nil) }

  /// Returns the value in a JSON file.
  public static func load(from url: URL) throws -> Self {
    let data: Data
    do {
      data = try Data(contentsOf: url)
    } catch {
      throw JSONFileError(file: url, fileSystem: error)
    }
    return try decoded(from: data, in: url)
  }

  /// Returns the value in the default file of the type.
  public static func load() throws -> Self { try load(from: url()) }

  /// Returns the value in a file of the documents folder.
  ///
  /// - Parameter file: The name of the file, with or without `.json`; nil for the default file of the type.
  public static func load(from file: String?) throws -> Self { try load(from: url(from: file)) }

  /// Returns the value in a JSON text.
  public static func load(fromString stringData: String) throws -> Self { try load(from: Data(stringData.utf8)) }

  /// Returns the value with these properties, which are untyped.
  public static func load(from dictionary: [String: Any]) throws -> Self { try load(untyped: dictionary) }

  /// Returns the value with these elements, which are untyped.
  public static func load(from array: [Any]) throws -> Self { try load(untyped: array) }

  /// Replaces the value by that in a JSON document.
  public mutating func load(from data: Data) throws { self = try Self.load(from: data) }

  /// Replaces the value by that in a JSON file.
  public mutating func load(from url: URL) throws { self = try Self.load(from: url) }

  /// Replaces the value by that in the default file of the type.
  public mutating func load() throws { self = try Self.load() }

  /// Replaces the value by that in a file of the documents folder.
  ///
  /// - Parameter file: The name of the file, with or without `.json`; nil for the default file of the type.
  public mutating func load(from file: String?) throws { self = try Self.load(from: file) }

  /// Replaces the value by that in a JSON text.
  public mutating func load(fromStringData stringData: String) throws { self = try Self.load(fromString: stringData) }

  /// Replaces the value by that with these properties, which are untyped.
  public mutating func load(from dictionary: [String: Any]) throws { self = try Self.load(from: dictionary) }

  /// Replaces the value by that with these elements, which are untyped.
  public mutating func load(from array: [Any]) throws { self = try Self.load(from: array) }

  /// Returns the default file of the type: that of its name in the documents folder.
  public static func url() -> URL { url(from: nil) }

  /// Returns a file in the documents folder.
  ///
  /// - Parameter file: The name of the file, with or without `.json`; nil for the default file of the type.
  public static func url(from file: String?) -> URL { DefaultFile.url(of: Self.self, named: file) }

  private static func load(untyped value: Any) throws -> Self { try load(from: try JSON(untyped: value, at: []).data) }

  private static func decoded(from data: Data, in file: URL?) throws -> Self {
    do {
      return try JSONDecoder().decode(Self.self, from: data)
    } catch {
      guard case DecodingError.dataCorrupted(let context) = error, context.codingPath.isEmpty else {
        throw JSONFileError(file: file, coding: error)
      }
      // The decoder does not report the place of a syntax error.
      do {
        _ = try JSON(json: data)
      } catch let syntax {
        throw JSONFileError(
          file: file,
          cause: .syntax(syntax.reason, line: syntax.position.line, column: syntax.position.column)
        )
      }
      throw JSONFileError(file: file, coding: error)
    }
  }
}

/// The files that are named after types.
package enum DefaultFile {
  /// The folder of these files, which tests replace.
  @TaskLocal package static var folder = FileManager.default.urls(for: .documentDirectory, in: .userDomainMask).first

  static func url(of type: Any.Type, named name: String?) -> URL {
    let name = (name ?? "\(type)").deleting(suffix: ".json") + ".json"
    return (folder ?? FileManager.default.homeDirectoryForCurrentUser).appending(path: name)
  }

  /// Creates the folder of a file, and returns the file.
  static func create(for type: Any.Type, named name: String?) throws -> URL {
    let url = url(of: type, named: name)
    do {
      try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    } catch {
      throw JSONFileError(file: url, fileSystem: error)
    }
    return url
  }
}
