public import CloudKitWebServices
public import Foundation
internal import Synchronization

/// Sends requests through another transport and writes each exchange to a file, for `CKReplayingTransport` to replay.
///
/// ```swift
/// import CloudKit
/// import CloudKitRecording
///
/// let recorder = try CKRecordingTransport(CKHTTPTransport(), to: URL(filePath: "session.ndjson"))
/// let container = CKContainer(identifier: "iCloud.org.example.shop", credential: credential, transport: recorder)
/// ```
///
/// The file contains one `CKExchange` per line and can be read only by its owner: it holds no credentials, push tokens
/// or signed URLs, but the records themselves. A symbolic link is not followed. An exchange is written before its
/// response is returned. A full disk does not fail requests; exchanges that could not be written are counted in `lost`.
public final class CKRecordingTransport: CKTransport {
  private let transport: any CKTransport
  private let recording: Recording

  /// Wraps a transport. The file is created, or emptied if it exists.
  ///
  /// - Throws: `CocoaError` if the file cannot be opened for writing.
  public convenience init(_ transport: any CKTransport, to file: URL) throws {
    self.init(transport, try Recording(file))
  }

  private init(_ transport: any CKTransport, _ recording: Recording) {
    self.transport = transport
    self.recording = recording
  }

  /// The number of exchanges that could not be written.
  public var lost: Int { recording.lost.withLock { $0 } }

  /// Sends a request through the wrapped transport and records the outcome.
  public func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
    do throws(CKTransportError) {
      let response = try await transport.send(request)
      recording.note(CKExchange(request, .response(response)))
      return response
    } catch {
      recording.note(CKExchange(request, .failure(error)))
      throw error
    }
  }

  /// Returns the wrapped transport's transport to another server, recorded to the same file.
  public func transport(to origin: URL, timeout: Duration) -> any CKTransport {
    CKRecordingTransport(transport.transport(to: origin, timeout: timeout), recording)
  }

  /// The wrapped transport's transport for assets. Its transfers are not recorded.
  public var assetTransport: any CKAssetTransport { transport.assetTransport }
}

/// The file that exchanges are appended to, one at a time.
private final class Recording: Sendable {
  private let file: Mutex<FileHandle>
  let lost = Mutex(0)

  init(_ url: URL) throws {
    let descriptor = open(url.path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else {
      throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: url.path])
    }
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    // An existing file may have been readable by others.
    guard fchmod(descriptor, 0o600) == 0 else { throw CocoaError(.fileWriteNoPermission) }
    try handle.truncate(atOffset: 0)
    file = Mutex(handle)
  }

  func note(_ exchange: CKExchange) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do {
      let line = try encoder.encode(exchange) + Data("\n".utf8)
      try file.withLock { try $0.write(contentsOf: line) }
    } catch {
      lost.withLock { $0 += 1 }
    }
  }
}
