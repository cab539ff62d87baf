import Foundation
import NIOCore

/// The incoming body of a request, up to a limit: in memory, or, for an upload to an emulator with a data file, in a
/// spool.
struct RequestBody {
  /// The reason why a body was not kept. Its rest is discarded.
  enum Loss {
    /// Writing to the spool failed.
    case disk
    /// The open requests of all connections leave no memory for it.
    case memory
  }

  private(set) var data = Data()
  private(set) var spool: Spool?
  private(set) var loss: Loss?
  /// The folder of the spool; nil for a body that stays in memory.
  private let folder: String?
  /// The pieces that are not in the spool yet.
  private var pieces: [ByteBuffer] = []
  private var room: Int
  let share: BodyMemory.Share

  /// - Parameter request: The request without its body.
  init(_ request: EmulatorRequest, emulator: Emulator, memory: BodyMemory, at time: Date) {
    let limit = emulator.bodyLimit(request, at: time)
    // One byte more than the limit is enough to reject the body; the rest is discarded.
    room = limit == 0 ? 0 : limit + 1
    folder = room > 0 && request.path.hasPrefix(AssetPath.upload) ? emulator.folder : nil
    share = BodyMemory.Share(of: memory)
  }

  mutating func append(_ buffer: ByteBuffer) {
    let piece = buffer.readableBytesView.prefix(room)
    guard !piece.isEmpty, loss == nil else { return }
    guard share.grow(by: piece.count) else { return lose(.memory) }
    room -= piece.count
    if folder == nil {
      data.append(contentsOf: piece)
    } else {
      pieces.append(ByteBuffer(piece))
    }
  }

  private mutating func lose(_ loss: Loss) {
    self.loss = loss
    share.shrink(by: pieces.reduce(data.count) { $0 + $1.readableBytes })
    (data, pieces) = (Data(), [])
  }

  /// Takes the pieces that are not in the spool yet, and returns the function that writes them, for a thread that may
  /// wait for the disk; nil if there are none. The function returns nil if it cannot write.
  mutating func takeWrite() -> (@Sendable () -> Spool?)? {
    guard let folder, !pieces.isEmpty else { return nil }
    let (pieces, known, share) = (pieces, spool, share)
    self.pieces = []
    return {
      defer { share.shrink(by: pieces.reduce(0) { $0 + $1.readableBytes }) }
      do throws(Spool.Failure) {
        let spool = if let known { known } else { try Spool(folder: folder) }
        for piece in pieces {
          try piece.withUnsafeReadableBytes { (bytes) throws(Spool.Failure) in try spool.append(bytes) }
        }
        return spool
      } catch {
        return nil
      }
    }
  }

  /// Notes the result of a write.
  mutating func note(_ written: Spool?) {
    spool = written ?? spool
    if written == nil { lose(.disk) }
  }
}
