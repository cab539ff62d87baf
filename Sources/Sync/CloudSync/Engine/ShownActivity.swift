import Facts
import Synchronization

/// The activity and progress of an engine, as other processes see them. Its next transaction publishes them, or a
/// heartbeat, so that they need no transactions of their own.
final class ShownActivity: Sendable {
  struct Value: Hashable, Sendable {
    fileprivate(set) var activity = SyncStore.Activity.idle
    /// Nil before the current phase has any.
    fileprivate(set) var progress: Progress?
    /// Whether a fetch is in progress, during which referenced records may not have arrived yet.
    fileprivate(set) var isFetching = false
    /// Since when the server owes a reply, if that is longer than usual.
    fileprivate(set) var silentSince: Int64?
  }

  private struct State {
    var value = Value()
    /// Nothing is known of what the previous engine published, so the first transaction publishes an idle engine.
    var published: Value?
    /// When the request began that has no reply yet.
    var requestBeganAt: Int64?
    var idleUntil: Int64??
  }

  private let state = Mutex(State())

  /// Milliseconds after which a request without a reply is shown. With the time until the heartbeat writes it and a
  /// screen reads it, that is five seconds.
  static let usualReply: Int64 = 4_500

  func requestBegan(at time: Int64) { state.withLock { $0.requestBeganAt = time } }

  func requestEnded() { state.withLock { ($0.requestBeganAt, $0.value.silentSince) = (nil, nil) } }

  /// Notes a request that has been without a reply for longer than usual.
  func noteSilence(at time: Int64) {
    state.withLock { state in
      // Files take longer, and their transport has a time limit of its own.
      guard let began = state.requestBeganAt, time - began >= Self.usualReply, state.value.progress?.phase != .upload
      else { return }
      state.value.silentSince = began
    }
  }

  func start(_ activity: SyncStore.Activity) {
    state.withLock { state in
      guard state.value.activity != activity else { return }
      state.value.activity = activity
      state.value.progress = nil
    }
  }

  func show(_ progress: Progress) { state.withLock { $0.value.progress = progress } }

  func setFetching(_ isFetching: Bool) { state.withLock { $0.value.isFetching = isFetching } }

  /// Shows an idle engine.
  func end() { state.withLock { $0.value = Value() } }

  /// The time at which the idle engine continues, as recorded in the store; nil while it is busy.
  var idleUntil: Int64?? { state.withLock(\.idleUntil) }

  func setIdle(_ end: Int64??) { state.withLock { $0.idleUntil = end } }

  /// Whether a sync is in progress.
  var isBusy: Bool { state.withLock { $0.value.activity != .idle } }

  /// The activity, if it was not published yet.
  var unpublished: Value? { state.withLock { $0.value == $0.published ? nil : $0.value } }

  func notePublished(_ value: Value) { state.withLock { $0.published = value } }
}
