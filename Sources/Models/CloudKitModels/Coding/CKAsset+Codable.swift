public import CloudKit

/// Properties of type `CKAsset`, or lists of them, are stored as assets.
///
/// An asset belongs to a field of a record, so nested values, which are stored as JSON, cannot contain one.
extension CKAsset: Codable {
  /// Always throws `EncodingError`: an asset cannot be inside a nested value.
  public func encode(to encoder: any Encoder) throws {
    throw ValuePath(encoder.codingPath).refusal(of: self, Self.nesting)
  }

  /// Always throws `DecodingError`: an asset cannot be inside a nested value.
  public convenience init(from decoder: any Decoder) throws {
    throw DecodingError.dataCorrupted(
      DecodingError.Context(decoder.codingPath, ConversionFailure(reason: Self.nesting))
    )
  }

  private static let nesting = "An asset must be a property of the model and cannot be inside a nested value."
}
