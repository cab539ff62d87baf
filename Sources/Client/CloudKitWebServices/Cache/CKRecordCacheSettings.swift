/// The settings of a cache that keeps records in memory, so that fetching them by ID again sends no request.
///
/// ```swift
/// configuration.cache = CKRecordCacheSettings(maximumAge: .seconds(60), uncachedTypes: ["Stock"])
/// ```
///
/// The handbook's page "Caching fetched records" (`Handbook/Client/Caching.md`) says what is served, and what removes
/// records from the cache.
public struct CKRecordCacheSettings: Sendable, Hashable {
  /// Whether records are kept and served.
  public var isEnabled: Bool
  /// The age from which a record is fetched again, counted from the start of the request that returned it.
  public var maximumAge: Duration
  /// The maximum number of records. The least recently used are removed first.
  public var maximumCount: Int
  /// The approximate maximum size of all records together, in bytes.
  public var maximumBytes: Int
  /// The types of records that are never kept.
  public var uncachedTypes: Set<String>

  /// Makes settings. By default, a thousand records are kept for 30 seconds, in at most 16 MiB.
  public init(
    isEnabled: Bool = true,
    maximumAge: Duration = .seconds(30),
    maximumCount: Int = 1000,
    maximumBytes: Int = 16 << 20,
    uncachedTypes: Set<String> = []
  ) {
    self.isEnabled = isEnabled
    self.maximumAge = maximumAge
    self.maximumCount = maximumCount
    self.maximumBytes = maximumBytes
    self.uncachedTypes = uncachedTypes
  }

  /// No cache: every fetch is a request.
  public static let off = CKRecordCacheSettings(isEnabled: false)
  /// Saves as many requests as it can: 5000 records are kept for five minutes, in at most 64 MiB.
  public static let fast = CKRecordCacheSettings(
    maximumAge: .seconds(300),
    maximumCount: 5000,
    maximumBytes: 64 << 20
  )
  /// Needs little memory: a hundred records are kept for 30 seconds, in at most 1 MiB.
  public static let small = CKRecordCacheSettings(maximumCount: 100, maximumBytes: 1 << 20)
}
