import Testing

@testable import CloudKit

struct ReplyMatchingTests {
  private let failure = WireResult<WireRecord>.failure(nil, WebServicesError(.badRequest, "no"))

  private func saved(_ name: String) -> WireResult<WireRecord> { .item(WireRecord(recordName: name)) }

  @Test func `records are matched by name, and by position where the reply names none`() {
    #expect([saved("b"), saved("a")].matched(to: ["a", "b"]) == [saved("a"), saved("b")])
    #expect([saved("a"), failure].matched(to: ["a", "b"]) == [saved("a"), failure])
    #expect([saved("a")].matched(to: ["a", "b"]) == [saved("a"), nil])
  }

  @Test func `an element without a name does not replace that of a record that the reply names`() {
    #expect([saved("b"), failure].matched(to: ["a", "b"]) == [nil, saved("b")])
    #expect([failure, saved("a")].matched(to: ["a", "b"]) == [saved("a"), nil])
  }

  @Test func `two spellings of an accent are two records`() {
    let (composed, decomposed) = ("\u{E9}", "e\u{301}")

    let matches = [saved(decomposed), saved(composed)].matched(to: [composed, decomposed])

    #expect(matches.map { Array(($0?.id ?? "").utf8) } == [Array(composed.utf8), Array(decomposed.utf8)])
  }

  @Test func `a zone is matched by its name, and by its owner where two have that name`() {
    func id(_ name: String, _ owner: String?) -> WireZoneID { WireZoneID(zoneName: name, ownerRecordName: owner) }
    func zone(_ name: String, _ owner: String?) -> WireResult<WireZone> { .item(WireZone(zoneID: id(name, owner))) }
    let nameless = WireResult<WireZone>.failure(nil, WebServicesError(.badRequest, "no"))

    #expect([zone("a", "me")].matched(to: [id("a", nil)]) == [zone("a", "me")])
    let (ana, ben) = (zone("a", "ana"), zone("a", "ben"))
    #expect([zone("a", "me")].matched(to: [id("a", nil), id("a", nil)]) == [zone("a", "me"), zone("a", "me")])
    #expect([ben, ana].matched(to: [id("a", "ana"), id("a", "ben")]) == [ana, ben])
    #expect([ben].matched(to: [id("a", "ana"), id("a", "ben")]) == [nil, ben])
    #expect([zone("b", nil), nameless].matched(to: [id("a", nil), id("b", nil)]) == [nameless, zone("b", nil)])
    #expect([nameless].matched(to: [id("a", nil), id("b", nil)]) == [nil, nil])
  }
}
