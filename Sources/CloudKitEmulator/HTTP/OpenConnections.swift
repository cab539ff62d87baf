import NIOCore
import Synchronization

/// Asks a connection to answer the long poll it holds. The request to close alone would wait for that answer.
struct EndOfPolls {}

/// The connections a server has open, so that it can end them.
final class OpenConnections: Sendable {
  private struct State {
    var channels: [ObjectIdentifier: any Channel] = [:]
    var isClosing = false
  }

  private let state = Mutex(State())

  /// Takes a new connection in, unless there are too many; one that slipped in while the server stops is closed at once.
  func add(_ channel: any Channel, limit: Int) -> Bool {
    let (isWelcome, isClosing) = state.withLock { state in
      guard !state.isClosing, state.channels.count < limit else { return (false, state.isClosing) }
      state.channels[ObjectIdentifier(channel)] = channel
      return (true, false)
    }
    if isClosing { channel.close(promise: nil) }
    guard isWelcome else { return false }
    channel.closeFuture.whenComplete { [self] _ in
      state.withLock { $0.channels[ObjectIdentifier(channel)] = nil }
    }
    return true
  }

  /// Asks each connection to close when its answer is out, waits for all of them, and cuts off what takes too long.
  func closeAll(within grace: Duration) async {
    let channels = state.withLock { state in
      state.isClosing = true
      return Array(state.channels.values)
    }
    for channel in channels {
      channel.pipeline.fireUserInboundEventTriggered(EndOfPolls())
      channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
      channel.eventLoop.scheduleTask(in: TimeAmount(grace)) { channel.close(promise: nil) }
    }
    for channel in channels {
      // Only a connection that broke meanwhile ends with an error, and it is gone all the same.
      try? await channel.closeFuture.get()
    }
  }
}
