public import Foundation
internal import Synchronization

// Requests for access, which Web Services have no calls for. Code that uses them compiles; what would have to be sent
// fails.

/// A person who asked for access to a share. Use it by its name `CKShare.AccessRequester`. There is none here: Web
/// Services do not report them.
public final class CKShareAccessRequester: NSObject, Sendable {
  /// The person.
  public let userIdentity: CKUserIdentity
  /// The information that finds the person, to add them as a participant.
  public let participantLookupInfo: CKUserIdentity.LookupInfo

  private init(_ userIdentity: CKUserIdentity, _ participantLookupInfo: CKUserIdentity.LookupInfo) {
    self.userIdentity = userIdentity
    self.participantLookupInfo = participantLookupInfo
  }
}

/// A person who may not ask for access to a share. Use it by its name `CKShare.BlockedIdentity`. There is none here:
/// Web Services do not report them.
public final class CKShareBlockedIdentity: NSObject, Sendable {
  /// The person.
  public let userIdentity: CKUserIdentity

  private init(_ userIdentity: CKUserIdentity) { self.userIdentity = userIdentity }
}

extension CKShare {
  /// A person who asked for access to a share.
  public typealias AccessRequester = CKShareAccessRequester
  /// A person who may not ask for access to a share.
  public typealias BlockedIdentity = CKShareBlockedIdentity

  /// Whether people who are not invited may ask for access; false by default. Saving a share for which it is true fails
  /// with `CKError.invalidArguments`.
  public var allowsAccessRequests: Bool {
    get { state.withLock { $0.sharing?.allowsAccessRequests ?? false } }
    set { state.withLock { $0.sharing?.allowsAccessRequests = newValue } }
  }

  /// The people who asked for access. Always empty.
  public var requesters: [AccessRequester] { [] }

  /// The people who may not ask for access. Always empty.
  public var blockedIdentities: [BlockedIdentity] { [] }

  /// Refuses the requests of people. It does nothing, because there are no requests.
  public func denyRequesters(_ requesters: [AccessRequester]) {}

  /// Refuses all requests of people. It does nothing, because there are no requests.
  public func blockRequesters(_ requesters: [AccessRequester]) {}

  /// Lets people ask again. It does nothing, because no one can be blocked.
  public func unblockIdentities(_ blockedIdentities: [BlockedIdentity]) {}

  /// Returns the URL of a participant of `CKShare.Participant.oneTimeURLParticipant()`. Always nil.
  public func oneTimeURL(for participantID: CKShare.Participant.ID) -> URL? { nil }
}

extension CKContainer {
  /// Asks for access to shares. Fails for each with `CKError.invalidArguments`: Web Services have no call for it.
  public func requestShareAccess(for urls: [URL]) async throws -> [URL: Result<Void, any Error>] {
    Dictionary(urls.map { ($0, .failure(CKError.unsupported("ask for access to a share"))) }) { first, _ in first }
  }
}

/// An operation that asks for access to shares. It fails with `CKError.invalidArguments`: Web Services have no call for
/// it.
open class CKShareRequestAccessOperation: CKOperation, @unchecked Sendable {
  /// The URLs of the shares.
  @CKParameter open var shareURLs: [URL]?

  /// Called for each URL with the error.
  @CKCallback open var perShareAccessRequestResultBlock: ((URL, Result<Void, any Error>) -> Void)?

  /// Called at the end with `CKError.partialFailure`.
  @CKCallback open var shareRequestAccessResultBlock: ((Result<Void, any Error>) -> Void)?

  /// Makes an empty operation. Set `shareURLs` before you add it.
  public override init() {}

  /// Makes an operation that asks for access to shares.
  public convenience init(shareURLs: [URL]) {
    self.init()
    self.shareURLs = shareURLs
  }

  override func run() async {
    let urls = shareURLs?.withoutRepetition ?? []
    let container = beginInContainer()
    let answer = await attempt { try await container.requestShareAccess(for: urls) }
    let items = ItemResults(of: urls, in: answer)
    await call { [self] in
      for (url, result) in items.elements { perShareAccessRequestResultBlock?(url, result) }
      shareRequestAccessResultBlock?(outcome(answer, itemErrors: items.errors))
    }
  }
}
