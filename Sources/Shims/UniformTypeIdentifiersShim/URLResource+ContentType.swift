public import Foundation

extension URLResourceKey {
  /// The key of a file's type.
  public static let contentTypeKey = URLResourceKey(rawValue: "NSURLContentTypeKey")
}

extension URLResourceValues {
  /// The file's type: always nil, as file systems of Linux keep none. Code falls back on what it expects.
  public var contentType: UTType? { allValues[.contentTypeKey] as? UTType }
}
