public import Foundation

/// An error of saving or loading JSON.
///
/// Its texts name the file and the place in it. They contain no value, which may be private, except keys of a
/// dictionary.
public struct JSONFileError: LocalizedError, Hashable, Sendable {
  /// The reasons.
  public enum Cause: Hashable, Sendable {
    /// There is no such file.
    case fileNotFound
    /// The file cannot be read or written.
    case fileSystem(CocoaError.Code)
    /// The file is not a JSON document. Has the reason and its place; lines and columns count from 1.
    case syntax(String, line: Int, column: Int)
    /// The value at a path, such as `places[2].name`, is missing.
    case missingValue(path: String)
    /// The value at a path has another type than this.
    case wrongType(path: String, expected: String)
    /// The value at a path is not valid for its type.
    case invalidValue(path: String)
    /// JSON cannot represent the value at a path.
    case unsupportedValue(path: String)
    /// The type's own coding failed with an error of this type.
    case ownCoding(String)
  }

  /// The file; nil for JSON that is not in a file.
  public let file: URL?
  /// The reason.
  public let cause: Cause

  init(file: URL?, cause: Cause) { (self.file, self.cause) = (file, cause) }

  /// Wraps an error of the file system.
  init(file: URL, fileSystem error: any Error) {
    let code = (error as? CocoaError)?.code ?? CocoaError.Code(rawValue: (error as NSError).code)
    self.init(file: file, cause: code == .fileReadNoSuchFile ? .fileNotFound : .fileSystem(code))
  }

  /// Wraps an error of encoding or decoding.
  init(file: URL?, coding error: any Error) {
    let cause: Cause =
      switch error {
      case let error as JSONFileError: error.cause
      case EncodingError.invalidValue(_, let context): .unsupportedValue(path: context.codingPath.text)
      case DecodingError.keyNotFound(let key, let context): .missingValue(path: (context.codingPath + [key]).text)
      case DecodingError.valueNotFound(_, let context): .missingValue(path: context.codingPath.text)
      case DecodingError.typeMismatch(let type, let context):
        .wrongType(path: context.codingPath.text, expected: "\(type)")
      case DecodingError.dataCorrupted(let context): .invalidValue(path: context.codingPath.text)
      default: .ownCoding("\(type(of: error))")
      }
    self.init(file: file, cause: cause)
  }

  /// A sentence that names the file, and the place in it if it is known.
  public var errorDescription: String? {
    let name = file.map { "The file \($0.path)" } ?? "The JSON"
    return switch cause {
    case .fileNotFound: "\(name) does not exist. Save a value in it first."
    case .fileSystem(let code):
      "\(name) cannot be read or written (\(code.rawValue)). Check its folder and its permissions."
    case .syntax(let reason, let line, let column):
      "\(name) is damaged at line \(line), column \(column): \(reason). Correct or replace it."
    case .missingValue(let path): "\(name) has no value for \(path). Add it."
    case .wrongType(let path, let type): "\(name) has a value for \(path) that is not of type \(type). Correct it."
    case .invalidValue(let path): "\(name) has an invalid value for \(path). Correct it."
    case .unsupportedValue(let path): "\(name) cannot represent the value for \(path). Use another type for it."
    case .ownCoding(let type):
      "\(name) cannot be encoded or decoded: the type's own coding failed with \(type). Correct that coding."
    }
  }
}

extension [any CodingKey] {
  /// The path in words, such as `places[2].name`.
  var text: String {
    let path = reduce(into: "") { path, key in
      if let index = key.intValue {
        path += "[\(index)]"
      } else {
        path += path.isEmpty ? key.stringValue : ".\(key.stringValue)"
      }
    }
    return path.isEmpty ? "the whole document" : path
  }
}
