internal import Synchronization

/// The web-auth token that requests go out with: the newest by arrival, kept before it is used, dropped when refused.
///
/// Requests run in parallel, although the documentation says that a token dies with the answer that replaces it
/// (reference 1.4): a request that is refused with a token older than the present one says nothing about the present one.
final class WebAuthSession: Sendable {
  /// A token, and which sign-in it belongs to: an answer that was under way when the user changed is no news.
  struct Token: Sendable, Equatable {
    var text: String
    var signIn: Int
  }

  private struct State {
    var token: String?
    var signIn = 0
    var hasSignedOut = false
  }

  private let state: Mutex<State>
  /// Holds up no request: reading the present token takes `state` alone. Changes are told one after another, since two
  /// told in the wrong order would leave the older token on disk.
  private let changes = Mutex(())
  private let rotated: @Sendable (String) -> Void
  private let refused: (@Sendable (String) -> Void)?

  init(
    token: String?,
    rotated: @escaping @Sendable (String) -> Void,
    refused: (@Sendable (String) -> Void)?
  ) {
    state = Mutex(State(token: token))
    self.rotated = rotated
    self.refused = refused
  }

  /// What requests go out with; nil where nobody is signed in.
  var current: Token? {
    state.withLock { state in state.token.map { Token(text: $0, signIn: state.signIn) } }
  }

  /// Rises with each sign-in and sign-out.
  var signIn: Int { state.withLock { $0.signIn } }

  /// Somebody was signed in and left, other than one whose token ended.
  var hasSignedOut: Bool { state.withLock { $0.hasSignedOut } }

  /// Takes the token that an answer brought to a request that went out with `sent`; tells whether it is a new one.
  func adopt(_ token: String, inAnswerTo sent: Token) -> Bool {
    changes.withLock { _ in
      guard state.withLock({ $0.signIn == sent.signIn && $0.token != token }) else { return false }
      rotated(token)
      state.withLock { $0.token = token }
      return true
    }
  }

  /// What to try in place of a token that was refused; nil where it was the newest, or where somebody else has signed in
  /// since: what one user sent is never sent again as another. The newest is dropped if somebody is told of it: otherwise
  /// nobody would put another in its place, and the refusal may have been the server's mistake.
  func replacement(of token: Token) -> Token? {
    changes.withLock { _ in
      let present = current
      guard present == token else { return present?.signIn == token.signIn ? present : nil }
      guard let refused else { return nil }
      refused(token.text)
      state.withLock { $0.token = nil }
      return nil
    }
  }

  /// Restarts with the token of a sign-in; nil signs out.
  func begin(with token: String?) {
    changes.withLock { _ in
      let former = current
      if let token { rotated(token) } else if let former { refused?(former.text) }
      state.withLock { $0 = State(token: token, signIn: $0.signIn + 1, hasSignedOut: token == nil) }
    }
  }
}
