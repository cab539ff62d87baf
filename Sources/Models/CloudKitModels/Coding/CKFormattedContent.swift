/// A format of nested values, as bytes or in an asset.
public enum CKContentFormat: Sendable {
  /// JSON with sorted keys.
  case json
  /// A property list as XML.
  case xmlPropertyList
  /// A binary property list.
  case binaryPropertyList
}

/// A nested type that chooses the format in which its values are stored. Other types are stored as JSON.
///
/// ```swift
/// struct Drawing: CKFormattedContent {
///   static let contentFormat = CKContentFormat.binaryPropertyList
///   var lines: [[Double]]
/// }
/// ```
///
/// Each format is read, whichever the type chooses. Lists and dictionaries of such values are JSON.
public protocol CKFormattedContent: Codable {
  /// The format of new values.
  static var contentFormat: CKContentFormat { get }
}
