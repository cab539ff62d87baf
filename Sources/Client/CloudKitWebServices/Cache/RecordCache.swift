/// A cache of records, as decisions about values. The lock, the clock and the server are elsewhere.
///
/// It learns every version that the server returns and every event that may have changed records. A read that is under
/// way cannot put an old version back: it fills the cache only with records that nothing has touched since it began.
struct RecordCache: Sendable {
  /// A zone of a database.
  struct Zone: Hashable, Sendable {
    /// The container with its environment.
    let container: String
    let database: DatabaseName
    let name: String
    /// The owner in the shared database. In the others every zone is the user's own, whether a request names the owner
    /// or not.
    let owner: String?

    init(_ zone: WireZoneID, in database: DatabaseName, of container: String) {
      (self.container, self.database, name) = (container, database, zone.zoneName)
      owner = database == .shared ? zone.ownerRecordName : nil
    }
  }

  struct Key: Hashable, Sendable {
    let zone: Zone
    let recordName: String
  }

  /// The user who fetched a record. Users may have different permissions, and each has a private database.
  struct Reader: Hashable, Sendable {
    /// The server-to-server key.
    var keyID: String?
    /// The first token of the user's sign-in, because the server replaces tokens all the time; nil without a user.
    var firstToken: String?
    var signIn = 0
  }

  /// The records that an event concerns.
  enum Part: Hashable, Sendable {
    case container(String)
    case database(DatabaseName, of: String)
    case zone(Zone)
    case record(Key)

    func contains(_ key: Key) -> Bool {
      switch self {
      case .container(let container): key.zone.container == container
      case .database(let database, let container): key.zone.container == container && key.zone.database == database
      case .zone(let zone): key.zone == zone
      case .record(let record): key == record
      }
    }
  }

  /// The start of a request.
  struct Mark: Sendable {
    fileprivate let moment: Int
    fileprivate let time: ContinuousClock.Instant
  }

  fileprivate struct Entry {
    let record: WireRecord
    /// The fields that were fetched; nil for all.
    let keys: Set<String>?
    let bytes: Int
    /// The time at which the record had this version.
    var time: ContinuousClock.Instant
    var lastUse = 0
  }

  private let settings: CKRecordCacheSettings
  private var entries: [Key: [Reader: Entry]] = [:]
  /// The number of records, one for each of its readers.
  private(set) var count = 0
  private(set) var bytes = 0
  /// The uses in order. Only the last use of an entry counts.
  private var uses: ArraySlice<(key: Key, reader: Reader, number: Int)> = []
  private var lastUse = 0
  /// The length of the list of uses.
  var rememberedUses: Int { uses.count }
  /// The number of events so far.
  private var moment = 0
  /// The last event of each part.
  private var touched: [Part: Int] = [:]
  /// The event up to which the events of parts are no longer known. Reads that began before it fill nothing.
  private var oldestKnown = 0

  /// The maximum number of parts whose last event is known.
  private let mostTouched: Int

  init(_ settings: CKRecordCacheSettings) {
    self.settings = settings
    mostTouched = 1000 + 4 * min(max(0, settings.maximumCount), 10_000)
  }

  /// Returns the mark of a request that begins now.
  func mark(at now: ContinuousClock.Instant) -> Mark { Mark(moment: moment, time: now) }

  // MARK: - Reading

  /// Returns those of the named records that are known with the desired fields and not too old.
  mutating func records(
    named names: [String],
    in zone: Zone,
    desiredKeys: [String]?,
    for reader: Reader,
    at now: ContinuousClock.Instant
  ) -> [String: WireRecord] {
    var found: [String: WireRecord] = [:]
    let wanted = desiredKeys.map { Set($0) }
    for name in names {
      let key = Key(zone: zone, recordName: name)
      guard let entry = entries[key]?[reader], entry.covers(wanted) else { continue }
      guard entry.time.duration(to: now) < settings.maximumAge else {
        remove(key) { other, _ in other == reader }
        continue
      }
      use(key, reader)
      found[name] = entry.record
      if let wanted { found[name]?.fields = entry.record.fields.filter { wanted.contains($0.key) } }
    }
    return found
  }

  // MARK: - Learning

  /// Learns a record that the server returned as its current version.
  ///
  /// - Parameters:
  ///   - keys: The fields that were fetched; nil for all.
  ///   - mark: The start of the request.
  mutating func fill(
    _ record: WireRecord,
    keys: [String]?,
    in zone: Zone,
    for reader: Reader,
    since mark: Mark
  ) {
    let key = Key(zone: zone, recordName: record.recordName)
    let isUntouched = isUntouched(key, since: mark)
    see(record, in: zone)
    guard isUntouched, isKept(record) else { return }
    let entry = Entry(
      record: record,
      keys: keys.map { Set($0) },
      bytes: record.approximateBytes,
      time: mark.time
    )
    guard entry.bytes <= settings.maximumBytes else { return }
    // The same version with more of its fields.
    if entries[key]?[reader]?.covers(entry.keys) == true {
      entries[key]?[reader]?.time = mark.time
    } else {
      remove(key) { other, _ in other == reader }
      entries[key, default: [:]][reader] = entry
      count += 1
      bytes += entry.bytes
    }
    use(key, reader)
    evict()
  }

  /// Learns a version that may not be the current one, because it is from a query or a change feed: any other version
  /// is no longer served.
  mutating func see(_ record: WireRecord, in zone: Zone) {
    let key = Key(zone: zone, recordName: record.recordName)
    touch(.record(key))
    let tag = record.recordChangeTag
    remove(key) { tag == nil || $1.record.recordChangeTag != tag }
  }

  /// Removes records that may have changed, for all readers.
  mutating func drop(_ part: Part) {
    touch(part)
    if case .record(let key) = part {
      remove(key)
    } else {
      for key in entries.keys.filter(part.contains) { remove(key) }
    }
  }

  /// Whether a record may be kept. Shares are not, because others change who takes part, nor records with assets, whose
  /// download addresses expire, nor sparse replies.
  private func isKept(_ record: WireRecord) -> Bool {
    guard let type = record.recordType, record.recordChangeTag != nil else { return false }
    return type != WireRecord.shareType && !settings.uncachedTypes.contains(type)
      && !record.fields.values.contains { $0.assets != nil }
  }

  // MARK: - Events

  private mutating func touch(_ part: Part) {
    moment += 1
    if touched.count >= mostTouched, touched[part] == nil { (touched, oldestKnown) = ([:], moment) }
    touched[part] = moment
  }

  /// Whether nothing has happened to a record since a request began.
  private func isUntouched(_ key: Key, since mark: Mark) -> Bool {
    let zone = key.zone
    let parts = [
      Part.record(key), .zone(zone), .database(zone.database, of: zone.container), .container(zone.container),
    ]
    return mark.moment >= oldestKnown && parts.allSatisfy { touched[$0] ?? 0 <= mark.moment }
  }

  // MARK: - Entries

  private mutating func use(_ key: Key, _ reader: Reader) {
    lastUse += 1
    entries[key]?[reader]?.lastUse = lastUse
    uses.append((key, reader, lastUse))
    // Keeps the list in proportion to the records.
    if uses.count > 2 * count + 100 { uses = uses.filter { isLast($0) }[...] }
  }

  private func isLast(_ use: (key: Key, reader: Reader, number: Int)) -> Bool {
    entries[use.key]?[use.reader]?.lastUse == use.number
  }

  private mutating func evict() {
    while count > settings.maximumCount || bytes > settings.maximumBytes, let use = uses.popFirst() {
      if isLast(use) { remove(use.key) { reader, _ in reader == use.reader } }
    }
  }

  /// Removes the entries of a record, or those of some readers.
  private mutating func remove(_ key: Key, where isConcerned: (Reader, Entry) -> Bool = { _, _ in true }) {
    for (reader, entry) in entries[key] ?? [:] where isConcerned(reader, entry) {
      entries[key]?[reader] = nil
      count -= 1
      bytes -= entry.bytes
    }
    if entries[key]?.isEmpty == true { entries[key] = nil }
  }
}

extension RecordCache.Entry {
  /// Whether it has the desired fields; nil desires all.
  fileprivate func covers(_ desired: Set<String>?) -> Bool {
    guard let keys else { return true }
    return desired.map { keys.isSuperset(of: $0) } ?? false
  }
}

extension WireRecord {
  /// The approximate memory of the record in bytes.
  fileprivate var approximateBytes: Int {
    fields.reduce(600 + recordName.utf8.count) { $0 + 60 + $1.key.utf8.count + $1.value.byteCount }
  }
}
