/// The time at which asset files are downloaded.
public enum CKAssetDownloads: Sendable, Hashable {
  /// Downloads files together with their record, as Apple's framework does. Fetching a record waits for its files.
  case eager
  /// Downloads a file when `CKAsset.download()` is called.
  case onDemand
}

extension AssetService {
  /// - Parameter configuration: The container's configuration; nil for a container that cannot be used.
  init(_ configuration: CKContainerConfiguration?) {
    self.init(
      configuration?.assetTransport ?? configuration?.transport.assetTransport ?? NoAssetTransport(),
      Instruments(configuration?.logger ?? Instruments.silent, logsReasons: configuration?.logsReasons ?? true),
      isEager: configuration?.assetDownloads != .onDemand,
      folder: AssetFolder.Options(root: configuration?.assetFolder, grace: configuration?.assetGrace ?? .zero)
    )
  }
}

extension OperationSettings {
  /// The deadline for the transfers of an operation that is running or starts now.
  var transferEnd: ContinuousClock.Instant? { deadline ?? begun().deadline }
}
