import CloudKit
import JSONText
import Testing

@testable import CloudKitWebServices

/// The decisions of the cache, as tables over values.
@Suite struct RecordCacheTests {
  private let start = ContinuousClock.now
  private let zone = RecordCache.Zone(.defaultZone, in: .private, of: "iCloud.a/development")
  private let ana = RecordCache.Reader(firstToken: "ana")

  private func note(_ name: String = "n", tag: String? = "1", fields: [String: FieldValue] = [:]) -> WireRecord {
    var fields = fields
    fields["title"] = .string("Milk")
    fields["count"] = .int64(3)
    return WireRecord(recordName: name, recordType: "Note", recordChangeTag: tag, fields: fields)
  }

  private func cache(_ settings: CKRecordCacheSettings = .fast, holding records: WireRecord...) -> RecordCache {
    var cache = RecordCache(settings)
    for record in records { cache.fill(record, keys: nil, in: zone, for: ana, since: cache.mark(at: start)) }
    return cache
  }

  private func key(_ name: String) -> RecordCache.Key { RecordCache.Key(zone: zone, recordName: name) }

  /// Returns the tag of a record that the cache serves.
  private func tag(
    in cache: RecordCache,
    of name: String = "n",
    keys: [String]? = nil,
    in zone: RecordCache.Zone? = nil,
    for reader: RecordCache.Reader? = nil,
    after age: Duration = .zero
  ) -> String? {
    var cache = cache
    let (zone, reader) = (zone ?? self.zone, reader ?? ana)
    return cache.records(named: [name], in: zone, desiredKeys: keys, for: reader, at: start + age)[name]?
      .recordChangeTag
  }

  @Test(arguments: [(0.0, true), (29.9, true), (30, false), (3600, false)])
  func `a record is served until it has the maximum age`(seconds: Double, isServed: Bool) {
    let cache = cache(CKRecordCacheSettings(), holding: note())

    #expect(tag(in: cache, after: .seconds(seconds)) == (isServed ? "1" : nil))
  }

  @Test func `the age counts from the start of the request, and an old record leaves the cache`() {
    var cache = RecordCache(CKRecordCacheSettings(maximumAge: .seconds(10)))
    let mark = cache.mark(at: start)
    // The reply came much later.
    cache.fill(note(), keys: nil, in: zone, for: ana, since: mark)

    let found = cache.records(named: ["n"], in: zone, desiredKeys: nil, for: ana, at: start + .seconds(10))

    #expect(found.isEmpty && cache.count == 0 && cache.bytes == 0)
  }

  @Test(arguments: [0, 1, 3, 50])
  func `there are never more records than the maximum, and the least recently used go first`(maximum: Int) {
    var cache = RecordCache(CKRecordCacheSettings(maximumCount: maximum))

    for number in 0..<10 * max(1, maximum) {
      cache.fill(note("\(number)"), keys: nil, in: zone, for: ana, since: cache.mark(at: start))
      // The first is used all the time.
      _ = cache.records(named: ["0"], in: zone, desiredKeys: nil, for: ana, at: start)
      #expect(cache.count <= maximum)
    }

    let last = 10 * max(1, maximum) - 1
    let served = (0...last).filter { tag(in: cache, of: "\($0)") != nil }
    #expect(served == (maximum < 2 ? [last].filter { _ in maximum > 0 } : [0] + (last - maximum + 2...last)))
  }

  @Test func `the records have at most the maximum bytes, and a record that is larger is not kept`() {
    var cache = RecordCache(CKRecordCacheSettings(maximumBytes: 10_000))
    for number in 0..<100 {
      cache.fill(note("\(number)"), keys: nil, in: zone, for: ana, since: cache.mark(at: start))
      #expect(cache.bytes <= 10_000)
    }
    #expect(cache.count > 5)

    let large = note("large", fields: ["text": .string(String(repeating: "x", count: 10_000))])
    cache.fill(large, keys: nil, in: zone, for: ana, since: cache.mark(at: start))

    #expect(tag(in: cache, of: "large") == nil && tag(in: cache, of: "99") == "1")
    cache.drop(.container("iCloud.a/development"))
    #expect(cache.count == 0 && cache.bytes == 0)
  }

  @Test(
    arguments: [
      // The fields that were fetched, those that are wanted, and whether they are served; nil is all.
      (nil, nil, true), (nil, ["title"], true), (nil, [], true), (["title"], nil, false), (["title"], ["title"], true),
      (["title"], ["title", "count"], false), (["title"], [], true), ([], ["title"], false),
      (["title", "none"], ["none"], true),
    ] as [([String]?, [String]?, Bool)]
  )
  func `a fetch of some fields is served by a record with these fields`(
    fetched: [String]?,
    wanted: [String]?,
    isServed: Bool
  ) throws {
    var (cache, record) = (RecordCache(.fast), note())
    if let fetched { record.fields = record.fields.filter { fetched.contains($0.key) } }
    cache.fill(record, keys: fetched, in: zone, for: ana, since: cache.mark(at: start))

    let found = cache.records(named: ["n"], in: zone, desiredKeys: wanted, for: ana, at: start)["n"]

    #expect((found != nil) == isServed)
    if let wanted, let found { #expect(Set(found.fields.keys) == Set(wanted).intersection(record.fields.keys)) }
  }

  @Test func `a fetch of fewer fields keeps the fuller record of the same version, and its age begins again`() {
    var cache = cache(CKRecordCacheSettings(), holding: note())
    var partial = note()
    partial.fields["count"] = nil
    cache.fill(partial, keys: ["title"], in: zone, for: ana, since: cache.mark(at: start + .seconds(20)))
    #expect(tag(in: cache, after: .seconds(40)) == "1")

    partial.recordChangeTag = "2"
    cache.fill(partial, keys: ["title"], in: zone, for: ana, since: cache.mark(at: start))
    #expect(tag(in: cache) == nil && tag(in: cache, keys: ["title"]) == "2")
  }

  @Test(
    arguments: [
      .container("iCloud.a/development"), .database(.private, of: "iCloud.a/development"),
      .zone(RecordCache.Zone(.defaultZone, in: .private, of: "iCloud.a/development")),
      .record(
        RecordCache.Key(
          zone: RecordCache.Zone(.defaultZone, in: .private, of: "iCloud.a/development"),
          recordName: "n"
        )
      ),
    ] as [RecordCache.Part]
  )
  func `an event removes the records that it concerns, and a read that began before puts none back`(
    part: RecordCache.Part
  ) {
    var cache = cache(holding: note("n"), note("other"))
    let read = cache.mark(at: start)

    cache.drop(part)
    cache.fill(note("n"), keys: nil, in: zone, for: ana, since: read)
    #expect(tag(in: cache, of: "n") == nil)
    let isRecord = if case .record = part { true } else { false }
    #expect(tag(in: cache, of: "other") == (isRecord ? "1" : nil))

    cache.fill(note("n"), keys: nil, in: zone, for: ana, since: cache.mark(at: start))
    #expect(tag(in: cache, of: "n") == "1")
  }

  @Test(
    arguments: [
      .container("iCloud.b/development"), .container("iCloud.a/production"),
      .database(.public, of: "iCloud.a/development"),
      .zone(RecordCache.Zone(WireZoneID(zoneName: "notes"), in: .private, of: "iCloud.a/development")),
      .record(
        RecordCache.Key(
          zone: RecordCache.Zone(WireZoneID(zoneName: "notes"), in: .private, of: "iCloud.a/development"),
          recordName: "n"
        )
      ),
    ] as [RecordCache.Part]
  )
  func `an event elsewhere concerns no record here`(part: RecordCache.Part) {
    var cache = cache(holding: note())
    let read = cache.mark(at: start)

    cache.drop(part)
    cache.fill(note("late"), keys: nil, in: zone, for: ana, since: read)

    #expect(tag(in: cache) == "1" && tag(in: cache, of: "late") == "1")
  }

  @Test func `a read that ends after a save does not bring the old version back`() {
    var cache = cache(holding: note())
    let (read, save) = (cache.mark(at: start), cache.mark(at: start))

    cache.fill(note(tag: "2"), keys: nil, in: zone, for: ana, since: save)
    #expect(tag(in: cache) == "2")
    cache.fill(note(tag: "1"), keys: nil, in: zone, for: ana, since: read)

    #expect(tag(in: cache) == nil)
  }

  @Test func `of two saves at the same time neither is kept, because their order is unknown`() {
    var cache = cache(holding: note())
    let (one, two) = (cache.mark(at: start), cache.mark(at: start))

    cache.fill(note(tag: "3"), keys: nil, in: zone, for: ana, since: one)
    cache.fill(note(tag: "2"), keys: nil, in: zone, for: ana, since: two)

    #expect(tag(in: cache) == nil)
  }

  @Test func `a version in a query or a feed outdates every other version, and not itself`() {
    var cache = cache(holding: note())
    cache.see(note(tag: "1"), in: zone)
    #expect(tag(in: cache) == "1")
    let read = cache.mark(at: start)

    cache.see(note(tag: "2"), in: zone)

    #expect(tag(in: cache) == nil)
    cache.fill(note(tag: "1"), keys: nil, in: zone, for: ana, since: read)
    #expect(tag(in: cache) == nil)
  }

  @Test func `one user's save outdates the record for all users, and each is served their own`() {
    var cache = cache(holding: note())
    let bob = RecordCache.Reader(firstToken: "bob")
    cache.fill(note(), keys: nil, in: zone, for: bob, since: cache.mark(at: start))
    #expect(cache.count == 2)

    cache.fill(note(tag: "2"), keys: nil, in: zone, for: bob, since: cache.mark(at: start))

    #expect(tag(in: cache) == nil && tag(in: cache, for: bob) == "2" && cache.count == 1)
  }

  @Test func `containers, environments, databases, zones, owners and users are kept apart`() {
    func zone(
      _ container: String = "iCloud.a/development",
      _ database: DatabaseName = .shared,
      _ name: String = "notes",
      _ owner: String? = "_o"
    ) -> RecordCache.Zone {
      RecordCache.Zone(WireZoneID(zoneName: name, ownerRecordName: owner), in: database, of: container)
    }
    let readers = [
      ana, RecordCache.Reader(), RecordCache.Reader(keyID: "ana"), RecordCache.Reader(firstToken: "ana", signIn: 2),
    ]
    let places =
      [
        zone(), zone("iCloud.b/development"), zone("iCloud.a/production"), zone("iCloud.a/development", .public),
        zone("iCloud.a/development", .shared, "lists"), zone("iCloud.a/development", .shared, "notes", "_p"),
      ].map { ($0, ana) } + readers.dropFirst().map { (zone(), $0) }
    var cache = RecordCache(.fast)

    for (number, place) in places.enumerated() {
      #expect(tag(in: cache, in: place.0, for: place.1) == nil)
      // The same version, because another one would outdate it for all users.
      let record = note(tag: place.0 == places[0].0 ? "same" : "\(number)")
      cache.fill(record, keys: nil, in: place.0, for: place.1, since: cache.mark(at: start))
    }
    for place in places { #expect(tag(in: cache, in: place.0, for: place.1) != nil) }
    // The user's own zones have one owner, named or not.
    #expect(zone("c", .private, "notes", "_o") == zone("c", .private, "notes", nil))
  }

  @Test func `shares, records with assets, sparse replies and types that opted out are not kept`() {
    func type(_ name: String?) -> WireRecord {
      var record = note()
      record.recordType = name
      return record
    }
    let asset = FieldValue.asset(WireAsset(fileChecksum: "c", size: 1, downloadURL: "https://files.test/1"))
    let settings = CKRecordCacheSettings(uncachedTypes: ["Stock"])

    for record in [
      type("cloudkit.share"), type(nil), type("Stock"), note(tag: nil), note(fields: ["photo": asset]),
      note(fields: ["photos": .list(.asset, [asset])]),
    ] {
      #expect(cache(settings, holding: record).count == 0)
    }
    #expect(cache(settings, holding: type("Note")).count == 1)
  }

  @Test func `when the events before a read are no longer known, it fills nothing`() {
    var cache = RecordCache(.small)
    let read = cache.mark(at: start)
    cache.drop(.record(key("n")))
    for number in 0..<10_000 { cache.drop(.record(key("\(number)"))) }

    cache.fill(note(), keys: nil, in: zone, for: ana, since: read)
    #expect(tag(in: cache) == nil)
    cache.fill(note(), keys: nil, in: zone, for: ana, since: cache.mark(at: start))
    #expect(tag(in: cache) == "1")
  }

  @Test func `records that are used many times need no more memory`() {
    var cache = cache(holding: note("a"), note("b"))
    for _ in 0..<10_000 { _ = cache.records(named: ["a"], in: zone, desiredKeys: nil, for: ana, at: start) }

    #expect(cache.rememberedUses <= 105 && tag(in: cache, of: "b") == "1")
  }

  @Test func `every setting of the cache has a default, and a container has no cache by default`() {
    let standard = CKRecordCacheSettings()
    #expect(standard.isEnabled && standard.maximumAge == .seconds(30) && standard.maximumCount == 1000)
    #expect(standard.maximumBytes == 16 << 20 && standard.uncachedTypes.isEmpty)
    #expect(CKRecordCacheSettings(maximumCount: 7).maximumAge == .seconds(30))
    #expect(CKContainerConfiguration(identifier: "iCloud.a", credential: nil).cache == .off)
    #expect(!CKRecordCacheSettings.off.isEnabled)
  }

  @Test func `one preset keeps more records for longer, another needs less memory`() {
    let (standard, fast, small) = (CKRecordCacheSettings(), CKRecordCacheSettings.fast, CKRecordCacheSettings.small)
    #expect(fast.isEnabled && fast.maximumAge == .seconds(300) && fast.maximumCount == 5000)
    #expect(small.isEnabled && small.maximumAge == .seconds(30) && small.maximumCount == 100)
    #expect(fast.maximumBytes > standard.maximumBytes && small.maximumBytes < standard.maximumBytes)
  }
}
