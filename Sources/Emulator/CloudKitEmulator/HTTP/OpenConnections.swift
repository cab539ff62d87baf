import NIOCore
import Synchronization

/// Asks a connection to answer its long poll. A request to close alone would wait for that response.
struct EndOfPolls {}

/// The open connections of a server.
final class OpenConnections: Sendable {
  private struct State {
    var channels: [ObjectIdentifier: any Channel] = [:]
    var isClosing = false
  }

  private let state = Mutex(State())

  /// Adds a connection if the limit allows it. A connection made while the server stops is closed at once.
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

  /// Asks all connections to close after their responses, waits for them, and closes those that take too long.
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
      // An error means that the connection broke, so it is closed too.
      try? await channel.closeFuture.get()
    }
  }
}
