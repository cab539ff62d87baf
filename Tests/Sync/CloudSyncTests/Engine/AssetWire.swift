import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import Foundation
import Synchronization

@testable import CloudSync

/// The emulator's asset hosts behind a wire that tests can cut, counting what goes over it.
final class AssetWire: CKAssetTransport {
  private let inner: EmulatorTransport
  private let state = Mutex((uploads: 0, isCut: false, breaks: false, seconds: 0.0))
  private let clock: TestClock

  init(_ world: World) {
    clock = world.clock
    inner = EmulatorTransport(world.emulator, now: { [clock = world.clock] in clock.date }, sleep: { _ in })
  }

  var uploads: Int { state.withLock { $0.uploads } }

  func cut(_ isCut: Bool) { state.withLock { $0.isCut = isCut } }

  /// From now on each upload takes so long.
  func slowDown(to seconds: Double) { state.withLock { $0.seconds = seconds } }

  /// From now on each upload breaks off in the middle.
  func breakOff() { state.withLock { $0.breaks = true } }

  func upload(file: URL, to address: URL) async throws(CKTransportError) -> CKTransportResponse {
    let (isCut, breaks, seconds) = state.withLock { state in
      state.uploads += 1
      return (state.isCut, state.breaks, state.seconds)
    }
    clock.advance(seconds)
    if isCut { throw CKTransportError(.notSent, "there is no network") }
    if breaks { throw CKTransportError(.unknown, "the connection broke") }
    return try await inner.upload(file: file, to: address)
  }

  func download(from address: URL, to file: URL, limit: Int64) async throws(CKTransportError) -> CKTransportResponse {
    try await inner.download(from: address, to: file, limit: limit)
  }
}
