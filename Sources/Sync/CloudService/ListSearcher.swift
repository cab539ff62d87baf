import CloudSync

/// Searches a list for a service, step by step and off the main actor, beside its other readings.
///
/// A search is not restarted by writes of the store. Once it is over, writes restart it no sooner than after ten times
/// its own duration, so that a search that takes long takes a small part of the time.
@MainActor
final class ListSearcher<Search: ListSearch> {
  typealias Part = ListPart<Search.Listing>
  typealias Page = ListPage<Search.Listing, Search.Row>

  /// Takes a page, or the error that ended a search.
  private let publish: @MainActor (Result<Page, any Error>) -> Void
  /// Returns what reads the store; nil if there is none.
  private let reader: @MainActor () -> StoreReader?
  /// The part to show; nil if the list is not searched.
  private var part: Part?
  /// The rows found for the listing: all of them or, during the first search, those found so far.
  private(set) var found: Search?
  /// Changes with each page that is published.
  private(set) var version = 0
  /// The part whose first rows were published before all had been found.
  private var published: Part?
  private var searching: Task<Void, Never>?
  private var waiting: Task<Void, Never>?
  private var pace = Pace(every: .zero)
  /// Whether the store was written since the search began.
  private var isOutOfDate = false

  /// Whether the list that is shown is searched.
  var isSearched: Bool { part != nil }

  init(
    reader: @escaping @MainActor () -> StoreReader?,
    publish: @escaping @MainActor (Result<Page, any Error>) -> Void
  ) {
    (self.reader, self.publish) = (reader, publish)
  }

  isolated deinit { stop() }

  /// Sets what to show. A search for another listing ends.
  func show(_ part: Part?) {
    if part?.listing != self.part?.listing { forget() }
    self.part = part
  }

  /// Ends a search, and forgets what it has found.
  func forget() {
    stop()
    (found, published, isOutOfDate) = (nil, nil, false)
  }

  private func stop() {
    for task in [searching, waiting] { task?.cancel() }
    (searching, waiting) = (nil, nil)
  }

  /// Notes that the store was written.
  func noteWritten() { isOutOfDate = true }

  /// Begins a search if one is needed and none is under way.
  func search() {
    guard part != nil, searching == nil, waiting == nil else { return }
    guard found != nil else { return begin() }
    guard isOutOfDate else { return }
    let wait = pace.wait(at: .now)
    guard wait > .zero else { return begin() }
    waiting = Task { [weak self] in
      guard (try? await Task.sleep(for: wait)) != nil else { return }
      self?.waiting = nil
      self?.search()
    }
  }

  private func begin() {
    guard let part else { return }
    isOutOfDate = false
    let isFirst = found == nil
    searching = Task { [weak self] in
      let start = ContinuousClock.now
      var search = Search(part.listing)
      do {
        while !search.isOver {
          guard let step = try await self?.step(search, isFirst: isFirst), !Task.isCancelled, let self else { return }
          search = step.search
          if isFirst || search.isOver { self.found = search }
          if let page = step.page { self.adopt(page) }
        }
      } catch {
        guard !Task.isCancelled else { return }
        self?.searching = nil
        self?.publish(.failure(error))
        return
      }
      self?.end(after: start.duration(to: .now))
    }
  }

  /// Looks at the next rows, and reads those to show if they have all been found for the first time, or the search is
  /// over.
  private func step(_ search: Search, isFirst: Bool) async throws -> (search: Search, page: Page?)? {
    guard let part, let reader = reader() else { return nil }
    let isToShow = isFirst && published != part
    return try await Task.detached {
      try reader.view { view in
        var search = search
        try search.step(in: view)
        guard search.isOver || (isToShow && search.has(part)) else { return (search, nil) }
        return (search, try search.page(of: part, in: view))
      }
    }.value
  }

  private func adopt(_ page: Page) {
    published = part
    version += 1
    publish(.success(page))
  }

  private func end(after duration: Duration) {
    searching = nil
    pace = Pace(every: max(.milliseconds(500), duration * 10))
    pace.note(at: .now)
    search()
  }
}

extension ListSearch {
  /// Whether all rows of a part are found, as far as there are any.
  func has(_ part: ListPart<Listing>) -> Bool { isOver || count >= part.offset + part.limit }

  /// A part of what has been found.
  func page(of part: ListPart<Listing>, in view: StoreView) throws -> ListPage<Listing, Row> {
    ListPage(
      part.listing,
      try window(offset: part.offset, limit: part.limit, in: view),
      isCounted: isCounted,
      retryable: isOver ? retryable : nil,
      recreated: try recreated(in: view)
    )
  }
}
