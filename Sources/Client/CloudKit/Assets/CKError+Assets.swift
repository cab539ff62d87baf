internal import Foundation

extension CKError {
  /// Converts the failure of a transfer.
  fileprivate init(transfer failure: WebServicesError) {
    let isRefused = failure.code == .unexpectedServerResponse && failure.httpStatus.map { $0 < 500 } ?? false
    self = isRefused ? CKError(.serverRejectedRequest, failure) : CKError(failure, in: .read)
  }

  /// Converts the failure of an upload.
  init(_ failure: UploadFailure, of file: URL) {
    switch failure {
    case .missing: self.init(.assetFileNotFound, "The asset's file \(file.lastPathComponent) does not exist.")
    case .changed:
      self.init(.assetFileModified, "The asset's file \(file.lastPathComponent) changed during the upload.")
    case .host(let failure): self.init(transfer: failure)
    }
  }

  /// Converts the failure of a download.
  init(_ failure: DownloadFailure) {
    switch failure {
    case .address: self.init(.assetNotAvailable, "The asset's address is not the address of a web host.")
    case .file(let error): self.init(error)
    case .cancelled(let message): self.init(.operationCancelled, message)
    case .host(let failure): self.init(transfer: failure)
    case .incomplete(let received, let size):
      self.init(.networkFailure, "Only \(received) of the asset's \(size) bytes arrived.")
    }
  }

  /// Converts the error of an asset's file.
  init(_ error: AssetFileError) {
    switch error {
    case .missing(let name): self.init(.assetFileNotFound, "The asset's file \(name) does not exist.")
    case .notCreated(let message): self.init(.internalError, message)
    }
  }
}

extension FileFacts {
  /// Looks at the file of an asset to be saved.
  ///
  /// - Throws: `CKError.assetFileNotFound` if there is no regular file.
  init(ofAsset file: URL) throws(CKError) {
    do throws(AssetFileError) { try self.init(of: file) } catch { throw CKError(error) }
  }
}
