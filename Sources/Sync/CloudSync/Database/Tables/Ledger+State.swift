import GRDB

/// A column of the table `state`, which has one row.
struct StateColumn<Value: DatabaseValueConvertible & Sendable>: Sendable {
  fileprivate let name: String
}

extension StateColumn<String> {
  static let container = Self(name: "container")
  static let environment = Self(name: "environment")
  static let database = Self(name: "database")
  /// The user that the server named.
  static let identity = Self(name: "identity")
  /// The user who queued the first change, before the server named one.
  static let queuedBy = Self(name: "queuedBy")
  /// The digest of the credential that queued the first change, or that synced last.
  static let signIn = Self(name: "signIn")
  /// The path of the store to which all changes have moved.
  static let joinedTo = Self(name: "joinedTo")
  /// `OutcomeSettings` as JSON.
  static let settings = Self(name: "settings")
  static let databaseToken = Self(name: "databaseToken")
  static let signInURL = Self(name: "signInURL")
  /// `DeliveryTrouble` as JSON.
  static let deliveryTrouble = Self(name: "deliveryTrouble")
  static let pausedBy = Self(name: "pausedBy")
}

extension StateColumn<Int64> {
  /// The number of requests so far.
  static let turn = Self(name: "turn")
  /// The time of the latest sync.
  static let clock = Self(name: "clock")
  /// When old history was removed last.
  static let retainedAt = Self(name: "retainedAt")
  /// The operations that a request may have, if the server takes fewer than usual.
  static let operationLimit = Self(name: "operationLimit")
  /// The fencing token of the latest lease with the app.
  static let appFencingToken = Self(name: "appFencingToken")
  /// Since when the server owes a reply, if that is longer than usual.
  static let silentSince = Self(name: "silentSince")
  /// Since when everything is paused.
  static let pausedAt = Self(name: "pausedAt")
  /// When an app last asked for deliveries. Triggers record them while it is there.
  static let deliveriesAskedAt = Self(name: "deliveriesAskedAt")
  static let deliveryCount = Self(name: "deliveryCount")
}

extension StateColumn<Bool> {
  /// Whether the last sync was rejected because its credential belongs to another user.
  static let isRefused = Self(name: "isRefused")
  /// Whether a fetch is in progress.
  static let isFetching = Self(name: "isFetching")
  /// Whether deliveries were dropped because no app asked for them.
  static let deliveriesLapsed = Self(name: "deliveriesLapsed")
}

/// The table `state`.
extension Ledger {
  func value<Value>(_ column: StateColumn<Value>) throws -> Value? { try one("SELECT \(column.name) FROM state") }

  func isTrue(_ column: StateColumn<Bool>) throws -> Bool { try value(column) ?? false }

  func setValue<Value>(_ column: StateColumn<Value>, _ value: Value?) throws {
    try run("UPDATE state SET \(column.name) = ?", [value])
  }
}

/// The server's waits that continue during a pause of their operation.
extension Ledger {
  func keepWait(of operation: Int64, pausedAt time: Int64, until end: Int64) throws {
    try run("INSERT OR REPLACE INTO pausedWaits VALUES (?, ?, ?)", [operation, time, end])
  }

  func keptWait(of operation: Int64) throws -> (pausedAt: Int64, until: Int64)? {
    try row("SELECT pausedAt, until FROM pausedWaits WHERE operation = ?", [operation]).map { ($0[0], $0[1]) }
  }
}
