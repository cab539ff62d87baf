internal import Foundation

/// When the files of assets are brought from the server.
public enum CKAssetDownloads: Sendable, Hashable {
  /// With the record that holds them, as Apple's framework does: reading a record takes as long as its files take.
  case eager
  /// When `CKAsset.download()` is called.
  case onDemand
}

/// Moves the bytes of one asset at a time, for the databases of a container.
struct AssetService: Sendable {
  let transport: any CKAssetTransport
  let downloads: CKAssetDownloads
  let place: AssetFolder.Place
  private let instruments: Instruments
  /// When transfers have to be over; nil leaves it to the transport.
  private var end: ContinuousClock.Instant?

  /// How many files move at the same time in one call.
  static let width = 4
  /// The most bytes taken for an asset whose descriptor does not tell its size.
  private static let largestUnknown: Int64 = 1 << 30

  /// - Parameter configuration: Nil for a container that cannot be used.
  init(_ configuration: CKContainerConfiguration?) {
    let general = configuration?.transport as? any CKAssetTransport
    transport = configuration?.assetTransport ?? general ?? CKHTTPAssetTransport()
    instruments = Instruments(configuration?.logger ?? Instruments.silent)
    downloads = configuration?.assetDownloads ?? .eager
    place = AssetFolder.Place(root: configuration?.assetFolder, grace: configuration?.assetGrace ?? .zero)
  }

  /// A service that only uploads.
  init(_ transport: any CKAssetTransport, _ instruments: Instruments) {
    (self.transport, self.instruments) = (transport, instruments)
    downloads = .onDemand
    place = AssetFolder.Place()
  }

  /// The same service for an operation whose time ends.
  func ending(at end: ContinuousClock.Instant?) -> AssetService {
    var service = self
    service.end = end
    return service
  }

  /// Posts a file to an address that the server gave.
  ///
  /// - Returns: The descriptor, with the receipt that lets it be saved.
  /// - Throws: `CKError.assetFileNotFound`, `assetFileModified` for the file's own troubles; why it was not stored.
  func upload(_ file: URL, to address: String) async throws(CKError) -> WireAsset {
    guard let url = AssetAddress.url(address) else {
      throw CKError(.internalError, "The address for the upload of an asset is none of a web host.")
    }
    let before = try FileFacts(of: file)
    let answer: CKTransportResponse
    let exchange = Instruments.Exchange(transfer: "asset upload", sent: Int(before.size))
    do throws(CKTransportError) {
      answer = try await inTime { transport throws(CKTransportError) in
        try await transport.upload(file: file, to: url)
      }
      instruments.transferred(exchange, status: answer.status, received: answer.body.count)
    } catch {
      instruments.failed(exchange, error)
      try unchanged(file, since: before)
      throw CKError(error)
    }
    try unchanged(file, since: before)
    if let refusal = CKError(assetStatus: answer) { throw refusal }
    guard let stored = try? JSONDecoder().decode(WireUploadedFile.self, from: answer.body).singleFile,
      stored.receipt != nil
    else { throw CKError(.internalError, "The answer to an upload has no receipt for the asset.") }
    guard stored.size ?? before.size == before.size else {
      throw CKError(.internalError, "\(stored.size ?? 0) bytes of an asset of \(before.size) were stored.")
    }
    return stored
  }

  private func unchanged(_ file: URL, since before: FileFacts) throws(CKError) {
    guard try FileFacts(of: file) == before else {
      throw CKError(.assetFileModified, "The asset's file \(file.lastPathComponent) changed while it was sent.")
    }
  }

  /// Brings the file of a descriptor.
  ///
  /// The size decides whether it is complete. The checksum cannot: its algorithm is not published (reference 5.9).
  ///
  /// - Returns: The file; nil where the address no longer leads to it, and a fresh one may.
  func download(_ asset: WireAsset, named name: String) async throws(CKError) -> OwnedFile? {
    guard let address = asset.downloadURL else { return nil }
    guard let url = AssetAddress.url(address, fileName: name) else {
      throw CKError(.assetNotAvailable, "The asset's address is none of a web host.")
    }
    let file = try OwnedFile(in: AssetFolder.current(in: place))
    let limit = asset.size ?? Self.largestUnknown
    let exchange = Instruments.Exchange(transfer: "asset download", sent: 0)
    let answer: CKTransportResponse
    do throws(CKTransportError) {
      answer = try await inTime { transport throws(CKTransportError) in
        try await transport.download(from: url, to: file.url, limit: limit)
      }
    } catch {
      instruments.failed(exchange, error)
      throw CKError(error)
    }
    let size = try FileFacts(of: file.url).size
    instruments.transferred(exchange, status: answer.status, received: Int(size))
    // Signed addresses of content hosts are refused with 403 once they are too old.
    if [403, 404, 410].contains(answer.status) { return nil }
    if let refusal = CKError(assetStatus: answer) { throw refusal }
    guard asset.size ?? size == size else {
      throw CKError(.networkFailure, "\(size) bytes of an asset of \(asset.size ?? 0) arrived.")
    }
    return file
  }

  /// Cuts a transfer off when the operation's time is over.
  private func inTime(
    _ transfer: @escaping @Sendable (any CKAssetTransport) async throws(CKTransportError) -> CKTransportResponse
  ) async throws(CKTransportError) -> CKTransportResponse {
    guard let end else { return try await transfer(transport) }
    let result = await withTaskGroup(of: Result<CKTransportResponse, CKTransportError>?.self) { [transport] group in
      group.addTask {
        do throws(CKTransportError) {
          return .success(try await transfer(transport))
        } catch {
          return .failure(error)
        }
      }
      group.addTask {
        try? await Task.sleep(until: end, clock: .continuous)
        return nil
      }
      let first = await group.next() ?? nil
      group.cancelAll()
      return first
    }
    guard let result else {
      throw CKTransportError(Task.isCancelled ? .cancelled : .unknown, "The operation's time was over.")
    }
    return try result.get()
  }
}

extension OperationSettings {
  /// When the transfers of an operation have to be over that is under way or begins now.
  var transferEnd: ContinuousClock.Instant? { deadline ?? begun().deadline }
}

extension CKError {
  /// A transfer that was not completed. It has no effect on records, so its loss is no lost answer.
  fileprivate init(_ failure: CKTransportError) {
    let code: Code =
      switch failure.delivery {
      case .notSent: .networkUnavailable
      case .unknown: .networkFailure
      case .cancelled: .operationCancelled
      }
    self.init(code, failure.message)
  }

  /// What an answer of an asset host means, which has no envelope; nil for success.
  fileprivate init?(assetStatus answer: CKTransportResponse) {
    let code: Code
    switch answer.status {
    case 200..<300: return nil
    case 413: code = .limitExceeded
    case 429: code = .requestRateLimited
    case 421, 502, 503, 504: code = .serviceUnavailable
    case 400..<500: code = .serverRejectedRequest
    default: code = .internalError
    }
    let wait = answer.header("Retry-After").flatMap(Double.init)
    let info: [String: any Sendable] = wait.map { [CKErrorRetryAfterKey: $0] } ?? [:]
    self.init(code, "The host of the asset answered with HTTP \(answer.status).", adding: info)
  }
}

extension Array where Element: Sendable {
  /// The results of a call for each element, in order, with at most `width` calls under way.
  func concurrently<Result: Sendable>(
    width: Int = AssetService.width,
    _ call: @escaping @Sendable (Element) async -> Result
  ) async -> [Result] {
    await withTaskGroup(of: (Int, Result).self) { group in
      var results = [Result?](repeating: nil, count: count)
      for (index, element) in enumerated() {
        if index >= width, let (done, result) = await group.next() { results[done] = result }
        group.addTask { (index, await call(element)) }
      }
      for await (done, result) in group { results[done] = result }
      return results.compactMap { $0 }
    }
  }
}
