public import Foundation
internal import Synchronization

/// Carries requests by another transport and writes each exchange to a file, for `CKReplayingTransport` to play again.
///
/// ```swift
/// let recorder = try CKRecordingTransport(CKHTTPTransport(), to: URL(filePath: "session.ndjson"))
/// let container = CKContainer(identifier: "iCloud.org.example.shop", credential: credential, transport: recorder)
/// ```
///
/// The file has a `CKExchange` in each line, readable by its owner alone: it holds no credentials, but the records
/// themselves. An exchange is in the file before its answer is handed on. A disk that is full fails no request: what
/// could not be written is counted in `lost`.
public final class CKRecordingTransport: CKTransport {
  private let transport: any CKTransport
  private let recording: Recording

  /// Wraps a transport. The file is made, or emptied.
  ///
  /// - Throws: Why the file cannot be written.
  public convenience init(_ transport: any CKTransport, to file: URL) throws {
    self.init(transport, try Recording(file))
  }

  private init(_ transport: any CKTransport, _ recording: Recording) {
    self.transport = transport
    self.recording = recording
  }

  /// How many exchanges could not be written.
  public var lost: Int { recording.lost.withLock { $0 } }

  /// Sends a request by the other transport and notes what became of it.
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

  /// The other transport's way to another server, recorded to the same file.
  public func transport(to origin: URL, timeout: Duration) -> any CKTransport {
    CKRecordingTransport(transport.transport(to: origin, timeout: timeout), recording)
  }
}

/// The file that exchanges are written to, one at a time.
private final class Recording: Sendable {
  private let file: Mutex<FileHandle>
  let lost = Mutex(0)

  init(_ url: URL) throws {
    let descriptor = open(url.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: url.path])
    }
    file = Mutex(FileHandle(fileDescriptor: descriptor, closeOnDealloc: true))
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
