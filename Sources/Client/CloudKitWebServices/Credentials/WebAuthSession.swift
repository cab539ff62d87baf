internal import Foundation
internal import Synchronization

/// The web auth token for requests: the newest one received. A new token is saved before it is used, and a rejected one
/// is dropped.
///
/// Requests run in parallel, although the documentation says that a token becomes invalid with the reply that replaces
/// it (reference 1.4). So a rejected older token says nothing about the current one.
final class WebAuthSession: Sendable {
  /// A token and the sign-in it belongs to. The reply to a request of an earlier sign-in is ignored.
  struct Token: Sendable, Equatable {
    var text: String
    var signIn: Int
  }

  private struct State {
    var token: String?
    /// The token with which the sign-in began.
    var firstToken: String?
    var signIn = 0
    var hasSignedOut = false
  }

  private let state: Mutex<State>
  /// Serializes changes, because two changes reported in the wrong order would leave the older token on disk. It blocks
  /// no request: reading the current token takes only `state`. It is recursive, because a callback may begin a session.
  private let changes = NSRecursiveLock()
  /// The tokens of the sessions that the callbacks of the present change have begun; nil if no change is being made.
  private let begun = Mutex<[String?]?>(nil)
  private let rotated: @Sendable (String) -> Void
  private let refused: (@Sendable (String) -> Void)?

  init(
    token: String?,
    rotated: @escaping @Sendable (String) -> Void,
    refused: (@Sendable (String) -> Void)?
  ) {
    state = Mutex(State(token: token, firstToken: token))
    self.rotated = rotated
    self.refused = refused
  }

  /// The current token; nil if no user is signed in.
  var current: Token? {
    state.withLock { state in state.token.map { Token(text: $0, signIn: state.signIn) } }
  }

  /// A number that increases with each sign-in and sign-out.
  var signIn: Int { state.withLock { $0.signIn } }

  /// The user for the cache of records.
  var reader: RecordCache.Reader {
    state.withLock { RecordCache.Reader(firstToken: $0.token == nil ? nil : $0.firstToken, signIn: $0.signIn) }
  }

  /// Whether the user signed out. False if the token was rejected.
  var hasSignedOut: Bool { state.withLock { $0.hasSignedOut } }

  /// Adopts the token in the reply to a request sent with `sent`. Returns whether it is new.
  func adopt(_ token: String, inAnswerTo sent: Token) -> Bool {
    change {
      guard state.withLock({ $0.signIn == sent.signIn && $0.token != token }) else { return false }
      rotated(token)
      state.withLock { $0.token = token }
      return true
    }
  }

  /// Returns the token to retry with after a token was rejected. Returns nil if the rejected token was the newest, or
  /// if another sign-in has begun since: a user's request is never sent again as another user.
  ///
  /// The newest token is dropped only if the server called it invalid and there is a `refused` callback. Without one
  /// the program could not replace it, and the rejection may have been the server's mistake.
  func replacement(of token: Token, isInvalid: Bool) -> Token? {
    change {
      let present = current
      guard present == token else { return present?.signIn == token.signIn ? present : nil }
      guard isInvalid, let refused else { return nil }
      refused(token.text)
      state.withLock { $0.token = nil }
      return nil
    }
  }

  /// Begins a session with the token of a sign-in; nil signs out. A session that a callback of a change begins follows
  /// when that change has been made.
  func begin(with token: String?) {
    changes.withLock {
      if begun.withLock({ $0?.append(token) }) == nil { change { replaceSession(with: token) } }
    }
  }

  private func replaceSession(with token: String?) {
    let former = current
    if let token { rotated(token) } else if let former { refused?(former.text) }
    state.withLock {
      $0 = State(token: token, firstToken: token, signIn: $0.signIn + 1, hasSignedOut: token == nil)
    }
  }

  /// Makes a change, and then begins the sessions that its callbacks asked for.
  private func change<Value>(_ body: () -> Value) -> Value {
    changes.withLock {
      let isInCallback = begun.withLock { begun in
        defer { begun = begun ?? [] }
        return begun != nil
      }
      let value = body()
      // The change whose callback this is begins the sessions.
      if isInCallback { return value }
      var tokens: [String?] = []
      repeat {
        for token in tokens { replaceSession(with: token) }
        tokens = begun.withLock { begun in
          let tokens = begun ?? []
          begun = tokens.isEmpty ? nil : []
          return tokens
        }
      } while !tokens.isEmpty
      return value
    }
  }
}
