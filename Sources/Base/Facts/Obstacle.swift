/// Why a command leaves an operation as it is.
package enum Obstacle: Hashable, Sendable {
  case beingSent
  /// Its row in the store is damaged, so that its content is unknown.
  case damaged
  /// The command means nothing in this state, by its name in the store.
  case inState(String)
  /// It is no longer in the version that was decided on; `state` is the present one.
  case changed(state: String)
  /// There is nothing to restore: the server's record has these values.
  case unchanged
  /// Another reason, as the store words it.
  case inWords(String)

  package var text: String {
    switch self {
    case .beingSent: "it is being sent"
    case .damaged: "its row in the store is damaged; discard it, or edit the record again"
    case .inState("pending"): "it is already waiting to be sent"
    case .inState(let state): "it is \(Self.words(state))"
    case .unchanged: "the server's record has these values already"
    case .inWords(let text): text
    case .changed(let state): "it has changed meanwhile and is now \(Self.words(state))"
    }
  }

  /// A state as the end of "it is …".
  package static func words(_ state: String) -> String { state == "conflict" ? "in conflict" : Words.state(state) }
}

extension Words {
  /// An operation's state as screens have it, by its name in the store.
  package static func state(_ name: String) -> String {
    switch name {
    case "inFlight": "sending"
    case "waiting": "retrying"
    default: name
    }
  }

  /// An operation as lists have it, by its name in the store.
  package static func operation(_ name: String) -> String {
    switch name {
    case "zoneSave": "create zone"
    case "zoneDelete": "delete zone"
    default: name
    }
  }
}
