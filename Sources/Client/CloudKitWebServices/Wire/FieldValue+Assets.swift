extension FieldValue {
  /// The descriptors in this value: itself, or the elements of its list; nil for a value of another type.
  package var assets: [WireAsset]? {
    switch self {
    case .asset(let asset): return [asset]
    case .list(.asset, let elements):
      return elements.compactMap { element in
        if case .asset(let asset) = element { asset } else { nil }
      }
    default: return nil
    }
  }

  /// Returns the same value with the descriptors at some positions replaced.
  package func replacingAssets(at places: [Int: WireAsset]) -> FieldValue {
    guard let assets else { return self }
    return replacingAssets(with: assets.enumerated().map { places[$0.offset] ?? $0.element })
  }

  /// Returns the same value with its descriptors replaced.
  package func replacingAssets(with assets: [WireAsset]) -> FieldValue {
    if case .list = self { return .list(.asset, assets.map(FieldValue.asset)) }
    return assets.first.map(FieldValue.asset) ?? self
  }
}
