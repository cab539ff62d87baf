package import Foundation
import JSONText

/// Uploads and downloads single assets for the databases of a container.
package struct AssetService: Sendable {
  let transport: any CKAssetTransport
  /// Whether files are downloaded together with their record.
  package private(set) var isEager: Bool
  let folder: AssetFolder.Options
  private let instruments: Instruments
  /// The deadline for transfers; nil leaves it to the transport.
  private var end: ContinuousClock.Instant?

  /// The maximum number of bytes to download for an asset whose descriptor has no size.
  private static let largestUnknown: Int64 = 1 << 30

  /// - Parameter folder: The folder of downloaded files.
  package init(
    _ transport: any CKAssetTransport,
    _ instruments: Instruments,
    isEager: Bool = false,
    folder: AssetFolder.Options = AssetFolder.Options()
  ) {
    (self.transport, self.instruments) = (transport, instruments)
    (self.isEager, self.folder) = (isEager, folder)
  }

  /// A copy of the service that downloads files only when they are asked for.
  package var onDemand: AssetService {
    var service = self
    service.isEager = false
    return service
  }

  /// Returns a copy of the service with a deadline for transfers.
  package func ending(at end: ContinuousClock.Instant?) -> AssetService {
    var service = self
    service.end = end
    return service
  }

  /// Uploads a file to an address that the server returned.
  ///
  /// - Returns: The descriptor, with the upload receipt that is needed to save it.
  package func upload(
    _ file: URL,
    to address: String,
    reporting report: AssetBytes.Report? = nil
  ) async throws(UploadFailure) -> WireAsset {
    guard let url = AssetAddress.url(address) else {
      throw .unexpected("the upload address of the asset is not the address of a web host")
    }
    guard let before = try? FileFacts(of: file) else { throw .missing }
    let answer: CKTransportResponse
    let exchange = Instruments.Exchange(transfer: "asset upload", sent: Int(before.size))
    do throws(CKTransportError) {
      answer = try await inTime(report) { transport throws(CKTransportError) in
        try await transport.upload(file: file, to: url)
      }
      instruments.transferred(exchange, status: answer.status, received: answer.body.count)
    } catch {
      instruments.failed(exchange, error)
      try unchanged(file, since: before)
      throw .host(WebServicesError(transfer: error))
    }
    try unchanged(file, since: before)
    if let refusal = WebServicesError(assetStatus: answer) { throw .host(refusal) }
    guard let stored = try? WireUploadedFile(json: answer.body).singleFile,
      stored.receipt != nil
    else { throw .unexpected("the reply to the asset upload has no receipt") }
    guard stored.size ?? before.size == before.size else {
      throw .unexpected("the server stored \(stored.size ?? 0) of the asset's \(before.size) bytes")
    }
    return stored
  }

  private func unchanged(_ file: URL, since before: FileFacts) throws(UploadFailure) {
    guard let now = try? FileFacts(of: file) else { throw .missing }
    guard now == before else { throw .changed }
  }

  /// Downloads the file of a descriptor.
  ///
  /// The size decides whether the file is complete. The checksum cannot be used: its algorithm is not published
  /// (reference 5.9).
  ///
  /// - Returns: The file; nil if the descriptor has no address or its address has expired, so that a fresh one may
  ///   work.
  package func download(
    _ asset: WireAsset,
    named name: String,
    reporting report: AssetBytes.Report?
  ) async throws(DownloadFailure) -> OwnedFile? {
    guard let address = asset.downloadURL else { return nil }
    guard let url = AssetAddress.url(address, fileName: name) else {
      throw .address
    }
    let file: OwnedFile
    do throws(AssetFileError) {
      file = try OwnedFile(in: AssetFolder.current(folder))
    } catch {
      throw .file(error)
    }
    let limit = asset.size ?? Self.largestUnknown
    let exchange = Instruments.Exchange(transfer: "asset download", sent: 0)
    let answer: CKTransportResponse
    do throws(CKTransportError) {
      answer = try await inTime(report) { transport throws(CKTransportError) in
        try await transport.download(from: url, to: file.url, limit: limit)
      }
    } catch {
      instruments.failed(exchange, error)
      throw error.delivery == .cancelled ? .cancelled(error.message) : .host(WebServicesError(transfer: error))
    }
    let size: Int64
    do throws(AssetFileError) { size = try FileFacts(of: file.url).size } catch { throw .file(error) }
    instruments.transferred(exchange, status: answer.status, received: Int(size))
    // Content hosts refuse signed addresses with 403 after they expire.
    if [403, 404, 410].contains(answer.status) { return nil }
    if let refusal = WebServicesError(assetStatus: answer) { throw .host(refusal) }
    guard asset.size ?? size == size else { throw .incomplete(size, of: asset.size ?? 0) }
    return file
  }

  /// Runs a transfer, whose bytes are reported, and cancels it at the operation's deadline.
  private func inTime(
    _ report: AssetBytes.Report?,
    _ transfer: @escaping @Sendable (any CKAssetTransport) async throws(CKTransportError) -> CKTransportResponse
  ) async throws(CKTransportError) -> CKTransportResponse {
    let attempt: @Sendable () async -> Result<CKTransportResponse, CKTransportError> = { [transport] in
      await AssetBytes.$report.withValue(report) {
        do throws(CKTransportError) { return .success(try await transfer(transport)) } catch { return .failure(error) }
      }
    }
    guard let end else { return try await attempt().get() }
    guard let result = await finished(by: end, attempt) else {
      throw CKTransportError(Task.isCancelled ? .cancelled : .unknown, "The operation timed out.")
    }
    return try result.get()
  }
}

/// The reason why the file of an asset was not uploaded.
package enum UploadFailure: Error {
  case missing
  /// The file changed during the upload.
  case changed
  /// The transfer failed, or the host refused the file.
  case host(WebServicesError)

  fileprivate static func unexpected(_ reason: String) -> UploadFailure {
    .host(WebServicesError(.unexpectedServerResponse, reason))
  }
}

/// The reason why the file of an asset was not downloaded.
package enum DownloadFailure: Error {
  /// The asset's address is not that of a web host.
  case address
  /// The file that the bytes are for cannot be used.
  case file(AssetFileError)
  /// The transfer was cancelled, in words for people.
  case cancelled(String)
  /// The transfer failed, or the host refused it.
  case host(WebServicesError)
  /// Fewer bytes arrived than the asset has.
  case incomplete(Int64, of: Int64)
}

extension WebServicesError {
  /// Makes the error for a transfer that was not completed. Transfers do not change records, so a lost reply needs no
  /// verification.
  fileprivate init(transfer failure: CKTransportError) {
    self.init(.networkError, failure.message, effect: failure.delivery == .unknown ? .unknown : .notSent)
  }

  /// Makes the error for the reply of an asset host, which has no JSON envelope; nil for success.
  fileprivate init?(assetStatus answer: CKTransportResponse) {
    let code: ServerErrorCode
    switch answer.status {
    case 200..<300: return nil
    case 413: code = .limitExceeded
    case 429: code = .throttled
    case 421, 502, 503, 504: code = .tryAgainLater
    default: code = .unexpectedServerResponse
    }
    // A host that names no wait asks for a short one.
    let wait = answer.retryAfter(now: Date()) ?? (code == .throttled ? 1 : nil)
    self.init(
      code,
      "the asset host replied with HTTP status \(answer.status)",
      retryAfter: wait,
      httpStatus: answer.status
    )
  }
}
