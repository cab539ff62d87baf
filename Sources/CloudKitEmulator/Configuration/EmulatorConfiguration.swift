import Crypto
import Foundation

/// What an emulator enforces and whom it knows. The defaults are the real service's limits and a trusting door.
public struct EmulatorConfiguration: Sendable {
  /// Operations accepted in one `records/modify`, and items in every other list of a request.
  public var operationLimit = 200
  /// Records or zones in one answer, whatever `resultsLimit` asks for.
  public var pageLimit = 200
  /// Bytes of one record's fields.
  public var recordSizeLimit = 1_000_000
  /// Fields of one record. No source has a number: this one keeps the schema, which learns the names, from growing without
  /// end. [E]
  public var fieldLimit = 1_000
  /// Bytes of a request body; a longer one is answered 413 without JSON, as a proxy would.
  public var bodySizeLimit = 2_000_000
  /// Bytes of one uploaded file: 50 MB, the larger of the two numbers that are documented.
  public var assetSizeLimit = 50 * 1024 * 1024
  /// Bytes of uploaded files that no record refers to yet; an upload beyond them is answered 503 without JSON. A small
  /// file counts as 4 kB.
  public var unusedAssetLimit = 1_000_000_000
  /// Bytes of the records in one answer. A page ends there and says that more is coming; a lookup refuses the rest.
  public var answerSizeLimit = 20_000_000
  /// How long a long poll waits for a notification before it is answered with nothing.
  public var courierKeepAlive: Duration = .seconds(30)
  /// Long polls that may wait at a time; more are answered 503.
  public var openPollLimit = 1000
  /// Connections that a server holds open at a time; more are answered 503.
  public var connectionLimit = 1000
  /// How long a connection may be silent in the middle of a request (then 408) or between two. An answer that nobody
  /// reads is given up after twice as long.
  public var idleTimeout: Duration = .seconds(60)
  /// Records that may refer to one target with `DELETE_SELF`.
  public var referrerLimit = 750
  /// How long a new record stays invisible to `records/query`; lookups and change feeds see it at once.
  public var indexDelay: Duration = .zero
  /// What is assumed where no source tells how the real service behaves.
  public var assumptions = EmulatorAssumptions()
  /// Refuse requests with a key that no documentation has, to find misspelt ones; the real service ignores them. [L3]
  public var rejectsUnknownKeys = false
  /// Accept only `apiTokens`, `users` and those in `directory`, instead of any token and a user for every name.
  public var strictAuth = false
  /// Accept of a user's web-auth tokens only the last one issued, as documented; the real service is lenient.
  public var strictWebAuth = false
  /// How long a web-auth token is good, by the time of the request that brings it: 30 minutes at the real service, and
  /// two weeks for who ticks "Keep me signed in". [D] `nil` is for ever. A name alone, which no sign-in has issued, has
  /// no end.
  public var webAuthTokenLifetime: Duration?
  /// Where the sign-in page sends the browser with the token, as is set up for an API token in CloudKit Console; `nil`
  /// hands the token to the window that opened the page.
  public var signInCallback: String?
  /// The query key of the token in the callback: `ckWebAuthToken`, or `ckSession` as some clients have seen it.
  public var signInCallbackKey = "ckWebAuthToken"
  /// The API tokens accepted under `strictAuth`.
  public var apiTokens: Set<String> = []
  /// The names of the users accepted under `strictAuth`, and known to `users/discover` from the start.
  public var users: Set<String> = []
  /// Users of whom more is known than a name. They may sign in under `strictAuth`, are found from the start by their
  /// addresses and numbers, and are each other's contacts.
  public var directory: [EmulatorUser] = []
  /// The registered server-to-server keys.
  public var serverKeys: [ServerKey] = []
  /// The number from which identifiers, sync tokens and change tags are made. `nil` draws one, so that no emulator is taken
  /// for another one; a given number makes runs repeatable. A data file keeps the number that it was made with.
  public var seed: UInt64?
  /// Signs web auth tokens under `strictAuth`, asset URLs, upload receipts and push tokens. Empty: drawn at random and kept
  /// in the data file, unless there is a `seed`. What was signed with another secret is refused.
  public var secret = ""
  /// Origins of web pages that may send requests over HTTP, such as `https://app.example.org`. Pages of this machine
  /// (loopback) and of the server itself always may.
  public var allowedOrigins: Set<String> = []

  /// Makes the default configuration.
  public init() {}

  /// Whether strangers are kept out.
  var isGuarded: Bool {
    strictAuth && !(apiTokens.isEmpty && users.isEmpty && directory.isEmpty && serverKeys.isEmpty)
  }
}

extension EmulatorConfiguration {
  /// The number and the secret that an emulator has for its whole life.
  struct Origin: Hashable {
    var seed: UInt64
    var secret: String
  }

  /// Draws what is not given. A seed makes the whole emulator repeatable, so no secret is drawn beside it.
  func drawingOrigin() -> Origin {
    guard secret.isEmpty, seed == nil else { return Origin(seed: seed ?? .random(in: 0...(.max)), secret: secret) }
    let secret = SymmetricKey(size: .bits256).withUnsafeBytes { Data($0).base64EncodedString() }
    return Origin(seed: .random(in: 0...(.max)), secret: secret)
  }

  func with(_ origin: Origin) -> EmulatorConfiguration {
    var configuration = self
    (configuration.seed, configuration.secret) = (origin.seed, secret.isEmpty ? origin.secret : secret)
    return configuration
  }

  /// A limit is exceeded. [E] (Question 8)
  func exceeded(_ reason: String) -> ServerError {
    ServerError(assumptions.exceededLimit == .badRequest ? .badRequest : .quotaExceeded, reason)
  }
}
