public import Foundation

extension URLResourceKey {
  /// The key of a file's type.
  public static let contentTypeKey = URLResourceKey(rawValue: "NSURLContentTypeKey")
}

extension URLResourceValues {
  /// The file's type. It is always nil, because Linux file systems do not store it, so code uses its fallback.
  public var contentType: UTType? { allValues[.contentTypeKey] as? UTType }
}
