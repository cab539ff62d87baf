import CloudKit

/// A page of a change feed or query.
protocol FeedPage: Sendable {
  /// The position of the next page.
  var position: String? { get }
  var hasMore: Bool { get }
  var isEmpty: Bool { get }
}

extension WirePage: FeedPage {
  var position: String? { continuationMarker ?? syncToken }
  var hasMore: Bool { continuationMarker != nil || moreComing }
  var isEmpty: Bool { elements.isEmpty }
}

extension WireResult<WireZoneChanges>: FeedPage {
  var position: String? { if case .item(let page) = self { page.syncToken } else { nil } }
  var hasMore: Bool { if case .item(let page) = self { page.moreComing } else { false } }
  var isEmpty: Bool { if case .item(let page) = self { page.records.isEmpty } else { true } }
}

/// The pages of a feed that were followed by others, by which one that never ends is recognized. Empty pages with more
/// to come are normal, but not many in a row.
struct FeedLength: Hashable {
  static let longestEmpty = (pages: 1_000, milliseconds: Int64(300_000))
  /// The number of pages up to which they are no sign of anything, however long they take.
  private static let fewest = 3

  private(set) var pages = 0
  private var milliseconds: Int64 = 0
  /// The empty pages in a row, and the time for them.
  private var emptyPages = 0
  private var emptyMilliseconds: Int64 = 0

  /// Adds a page.
  ///
  /// - Parameter milliseconds: the time for it, without that for sending changes in between.
  mutating func add(isEmpty: Bool, milliseconds: Int64) {
    pages += 1
    self.milliseconds += max(0, milliseconds)
    emptyPages = isEmpty ? emptyPages + 1 : 0
    emptyMilliseconds = isEmpty ? emptyMilliseconds + max(0, milliseconds) : 0
  }

  /// Whether the feed is taken to be endless.
  func isEndless(_ limit: Limit) -> Bool {
    pages >= limit.pages || emptyPages >= Self.longestEmpty.pages
      || pages >= Self.fewest && milliseconds >= limit.milliseconds
      || emptyPages >= Self.fewest && emptyMilliseconds >= Self.longestEmpty.milliseconds
  }

  /// The pages, and the time for them, that no feed of a kind takes.
  struct Limit: Hashable {
    var pages: Int
    var milliseconds = Int64.max
  }
}

/// The end of a fetch of one change feed, polled query or full scan.
enum FeedEnd {
  /// It was fetched to its end.
  case done
  /// Its turn is over, or a wait or an interruption of the cycle stopped it; it goes on later.
  case waits
  /// The scope backs off; others and the sending continue.
  case failed(WaitScope, WebServicesError)
  /// The server does not let us read it.
  case unreadable(WebServicesError)

  /// The failure of a feed or of a record in it. If the server asks to wait, sending to the zone waits too.
  static func failed(_ feed: WaitScope, of zone: ZoneKey?, _ error: WebServicesError) -> FeedEnd {
    .failed(zone.flatMap { Disposition(of: error, during: .fetchingZone).scope(in: $0) } ?? feed, error)
  }
}

/// The step after a reply to the request for a page.
enum FeedStep {
  /// Request the page at this position.
  case more(String?)
  /// Start again from this position, because the store has changed.
  case from(String?)
  case end(FeedEnd)
  /// The reply was an error of this feed.
  case refused(WebServicesError)
}

extension FeedPage {
  var step: FeedStep { hasMore ? .more(position) : .end(.done) }
}

/// A change feed, polled query or full scan, with how its pages are requested and applied.
struct Feed<Page: FeedPage> {
  var scope: WaitScope
  var zone: ZoneKey?
  /// The position of the first page.
  var start: String?
  /// The number of pages in a turn.
  var turn: Int
  /// The length in one sync at which it is taken to be endless.
  var limit: FeedLength.Limit
  /// Forgets the stored position and returns the one to start again with; nil if no position is stored.
  var restart: (() async throws -> String?)?
  var request: (_ position: String?) async throws(WebServicesError) -> Page
  var apply: (_ page: Page, _ position: String?) async throws -> FeedStep
  /// Returns the end of the feed for an error that means more than a failure; else nil.
  var end: (WebServicesError) -> FeedEnd? = { _ in nil }

  func failed(_ error: WebServicesError) -> FeedEnd { .failed(scope, of: zone, error) }
}

extension Cycle {
  /// Fetches a turn of a feed, page by page, and sends queued changes in between.
  ///
  /// - Throws: `WebServicesError` if all other requests would fail too.
  func fetch<Page>(_ feed: Feed<Page>) async throws -> FeedEnd {
    var token = feed.start
    if FetchPositions.isOversized(token), let restart = feed.restart { token = try await restart() }
    var positions = FetchPositions(from: token)
    var hasRestarted = false
    for pages in 0..<feed.turn {
      if pages > 0, try await !sendMeanwhile(fetching: feed.scope, of: feed.zone) { return .waits }
      try Task.checkCancellation()
      switch try await step(of: feed, at: token) {
      case .more(let next):
        // Empty pages with more to come are normal, but the position must change.
        do { token = try positions.next(next) } catch { return feed.failed(error) }
      case .from(let start):
        token = start
        positions = FetchPositions(from: token)
      case .end(let end): return end
      case .refused(let error):
        // Restart only once; a server that rejects its latest tokens would be asked for ever.
        guard error.means(.restart, during: .fetchingZone), token != nil, !hasRestarted, let restart = feed.restart
        else {
          return feed.failed(error)
        }
        token = try await restart()
        positions = FetchPositions(from: token)
        hasRestarted = true
      }
      if let length = feedLengths[feed.scope], length.isEndless(feed.limit) {
        return feed.failed(.endless(pages: length.pages))
      }
    }
    // The feed goes on from its stored position when the others had their turn.
    hasMoreToFetch = true
    return .waits
  }

  private func step<Page>(of feed: Feed<Page>, at token: String?) async throws -> FeedStep {
    let page: Page
    let start = store.now()
    do {
      page = try await feed.request(token)
    } catch {
      if let end = feed.end(error) { return .end(end) }
      if error.means(.restart, during: .fetching) { return .refused(error) }
      guard !Disposition(of: error, during: .fetching).stopsSync else { throw error }
      return .end(feed.failed(error))
    }
    summary.requests += 1
    if feed.restart != nil {
      do { try FetchPositions.check(page.position) } catch { return .end(feed.failed(error)) }
    }
    let next = try await feed.apply(page, token)
    switch next {
    case .more, .from:
      feedLengths[feed.scope, default: FeedLength()].add(isEmpty: page.isEmpty, milliseconds: store.now() - start)
    case .end: feedLengths[feed.scope] = nil
    case .refused: break
    }
    return next
  }

  /// Fetches records of a feed by name. The result is an error that does not concern everything.
  func refetch(_ names: [String], in zone: ZoneKey) async throws -> Result<[WireResult<WireRecord>], WebServicesError> {
    summary.requests += 1
    do {
      return .success(
        try await request { (client, database) async throws(WebServicesError) in
          try await client.lookup(names, zone: zone.wire, in: database)
        }
      )
    } catch {
      guard !Disposition(of: error, during: .fetching).stopsSync else { throw error }
      return .failure(error)
    }
  }
}

extension WebServicesError {
  /// The error of a feed with so many pages that it is taken to be endless.
  static func endless(pages: Int) -> WebServicesError {
    let reason = "the list of changes did not end after \(pages) pages; stopped fetching"
    return WebServicesError(.unexpectedServerResponse, reason)
  }
}
