import Foundation
import NIOCore

/// The body of a request on its way in, up to a limit: in memory, or for a file's upload in a spool.
struct RequestBody {
  private(set) var data = Data()
  private(set) var spool: Spool?
  /// Whether the spool could not take all of it.
  private(set) var hasFailed = false
  private var room: Int

  /// - Parameter request: The request without its body.
  init(_ request: EmulatorRequest, emulator: Emulator, at time: Date) {
    let limit = emulator.bodyLimit(request, at: time)
    // One byte over the limit is enough to refuse; the rest is read and thrown away.
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
