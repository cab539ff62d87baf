import Foundation
import NIOCore

/// The incoming body of a request, up to a limit; in memory, or in a spool for an upload.
struct RequestBody {
  private(set) var data = Data()
  private(set) var spool: Spool?
  /// Whether writing to the spool failed.
  private(set) var hasFailed = false
  private var room: Int

  /// - Parameter request: The request without its body.
  init(_ request: EmulatorRequest, emulator: Emulator, at time: Date) {
    let limit = emulator.bodyLimit(request, at: time)
    // One byte more than the limit is enough to reject the body; the rest is discarded.
    room = limit == 0 ? 0 : limit + 1
    guard room > 0, request.path.hasPrefix(AssetPath.upload), let folder = emulator.folder else { return }
    spool = try? Spool(folder: folder)
    hasFailed = spool == nil
  }

  mutating func append(_ buffer: ByteBuffer) {
    let view = buffer.readableBytesView.prefix(room)
    guard !view.isEmpty, !hasFailed else { return }
    room -= view.count
    guard let spool else { return data.append(contentsOf: view) }
    do throws(Spool.Failure) {
      try view.withUnsafeBytes { (bytes) throws(Spool.Failure) in try spool.append(bytes) }
    } catch {
      hasFailed = true
    }
  }
}
