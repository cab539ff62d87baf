import Crypto
import Foundation

/// The limits and users of an emulator. By default, the limits are those of the real service, and all users are
/// accepted.
public struct EmulatorConfiguration: Sendable {
  /// The maximum number of operations in one `records/modify`, and of items in every other list of a request.
  public var operationLimit = 200
  /// The maximum number of records or zones in a response, even if `resultsLimit` is larger.
  public var pageLimit = 200
  /// The maximum size of a record's fields in bytes.
  public var recordSizeLimit = 1_000_000
  /// The maximum number of fields of a record. No source has a number; the limit keeps a schema that learns field names
  /// from growing without end. [E]
  public var fieldLimit = 1_000
  /// The maximum size of a request body in bytes. A longer body is rejected with 413 without JSON, as by a proxy.
  public var bodySizeLimit = 2_000_000
  /// The maximum size of an uploaded file in bytes: 50 MB, the larger of the two documented numbers.
  public var assetSizeLimit = 50 * 1024 * 1024
  /// The maximum size in bytes of all uploaded files that no record refers to. Beyond it, uploads are rejected with 503
  /// without JSON. A small file counts as 4 kB.
  public var unusedAssetLimit = 1_000_000_000
  /// The maximum size in bytes of the records in a response. A page ends there and says that more is coming; a lookup
  /// rejects the remaining records.
  public var answerSizeLimit = 20_000_000
  /// The time after which a long poll without a notification gets an empty response.
  public var courierKeepAlive: Duration = .seconds(30)
  /// The maximum number of waiting long polls; more are rejected with 503.
  public var openPollLimit = 1000
  /// The maximum number of open connections of a server; more are rejected with 503.
  public var connectionLimit = 1000
  /// The maximum size in bytes of all request bodies that a server holds in memory at one time, decompressed. A request
  /// beyond it is rejected with 503 without JSON.
  public var openBodiesLimit = 256 * 1024 * 1024
  /// The maximum silence of a connection in a request (then 408) or between requests (then it closes). A connection
  /// that does not read its response is closed after twice this time.
  public var idleTimeout: Duration = .seconds(60)
  /// The maximum number of records that may refer to one target with `DELETE_SELF`.
  public var referrerLimit = 750
  /// The time for which a new record is invisible to `records/query`. Lookups and change feeds return it at once.
  public var indexDelay: Duration = .zero
  /// The behaviour where that of the real service is unknown.
  public var assumptions = EmulatorAssumptions()
  /// Whether to reject requests with unknown keys, to find misspelled ones. The real service ignores such keys. [L3]
  public var rejectsUnknownKeys = false
  /// Whether to accept only `apiTokens`, `users` and the users of `directory`. Otherwise any API token is accepted, and
  /// any name is a user.
  public var strictAuth = false
  /// Whether to accept only the last web auth token issued to a user, as documented. The real service is lenient.
  public var strictWebAuth = false
  /// The lifetime of web auth tokens; `nil` means no limit. At the real service it is 30 minutes, or two weeks with
  /// "Keep me signed in". [D] A plain name as a token, which no sign-in has issued, does not expire.
  public var webAuthTokenLifetime: Duration?
  /// The URL to which the sign-in page redirects with the token, as configured for an API token in CloudKit Console.
  /// `nil` passes the token to the page that asked for the sign-in, if its origin may read replies.
  public var signInCallback: String?
  /// The query key of the token in the callback URL: `ckWebAuthToken`, or `ckSession`, which some clients have
  /// observed.
  public var signInCallbackKey = "ckWebAuthToken"
  /// The API tokens that `strictAuth` accepts.
  public var apiTokens: Set<String> = []
  /// The names of the users that `strictAuth` accepts. `users/discover` finds them before their first request.
  public var users: Set<String> = []
  /// Users with more data than a name. `strictAuth` accepts them, they can be found by email address and phone number
  /// before their first request, and they are each other's contacts.
  public var directory: [EmulatorUser] = []
  /// The registered server-to-server keys.
  public var serverKeys: [ServerKey] = []
  /// The seed of identifiers, sync tokens and change tags. `nil` uses a random one, so that an emulator rejects the
  /// tokens of another. A given seed makes runs repeatable. A data file keeps the seed that it was created with.
  public var seed: UInt64?
  /// Signs web auth tokens under `strictAuth`, asset URLs, upload receipts and push tokens. Empty: generated at random
  /// and kept in the data file, unless there is a `seed`. Anything signed with another secret is rejected.
  public var secret = ""
  /// Origins of web pages that may send requests over HTTP, such as `https://app.example.org`. Pages of this machine
  /// (loopback) always may. The hosts of these origins are also accepted as names of this server.
  public var allowedOrigins: Set<String> = []

  /// Creates the default configuration.
  public init() {}

  /// Whether only known callers are accepted.
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

  /// Returns the given values, and random ones for the others. A seed makes the whole emulator repeatable, so it comes
  /// without a random secret.
  func generatedOrigin() -> Origin {
    guard secret.isEmpty, seed == nil else { return Origin(seed: seed ?? .random(in: 0...(.max)), secret: secret) }
    let secret = SymmetricKey(size: .bits256).withUnsafeBytes { Data($0).base64EncodedString() }
    return Origin(seed: .random(in: 0...(.max)), secret: secret)
  }

  /// Returns the configuration with an origin. A given secret is kept.
  func with(_ origin: Origin) -> EmulatorConfiguration {
    var configuration = self
    (configuration.seed, configuration.secret) = (origin.seed, secret.isEmpty ? origin.secret : secret)
    return configuration
  }

  /// Returns the error for an exceeded limit. [E] (Question 8)
  func exceeded(_ reason: String) -> ServerError {
    ServerError(assumptions.exceededLimit == .badRequest ? .badRequest : .quotaExceeded, reason)
  }
}
