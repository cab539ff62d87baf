import CloudKit
import Foundation
import TestSupport
import Testing

@Suite(.serialized) struct DateTests {
  /// A whole number of milliseconds as dates: as a clock that counts them since 2001 gives it, and since 1970.
  private func dates(_ milliseconds: Int64) -> (since2001: Date, since1970: Date) {
    (
      Date(timeIntervalSinceReferenceDate: Double(milliseconds - 978_307_200_000) / 1000),
      Date(timeIntervalSince1970: Double(milliseconds) / 1000)
    )
  }

  /// Writes a date, and reads it on another device.
  private func send(_ date: Date) throws -> (wire: FieldValue?, read: Date?) {
    let record = CKRecord(recordType: "Note")
    record["when"] = date
    let fields = try record.wireFields()
    let read = CKRecord(wire: WireRecord(recordName: "n", recordType: "Note", fields: fields), zoneID: .default)
    return (fields["when"], read["when"] as? Date)
  }

  @Test(arguments: [
    0, 1, -1, 999, 489_153_600_001, 978_307_200_000, 978_307_200_001, 1_767_322_800_123, 4_102_444_800_001,
    -62_135_596_800_000, 253_402_300_799_999,
  ])
  func `a whole number of milliseconds is sent as it is, and read as the nearest date`(milliseconds: Int64) throws {
    let (since2001, since1970) = dates(milliseconds)

    #expect(try send(since2001) == (.timestamp(milliseconds), since2001))
    #expect(try send(since1970) == (.timestamp(milliseconds), since2001))
    #expect(try send(since1970 + 0.000_4) == (.timestamp(milliseconds), since2001))
    var wire = WireRecord(recordName: "n", recordType: "Note")
    wire.created = WireStamp(timestamp: milliseconds)
    #expect(CKRecord(wire: wire, zoneID: .default).creationDate == since2001)
  }

  @Test func `a date of whole milliseconds since 2001 comes back bit by bit, also after the year 9000`() throws {
    var (random, changed) = (SplitMix64(seed: 1), [Int64]())

    for _ in 0..<10_000 {
      let milliseconds = Int64.random(in: -62_135_596_800_000...253_402_300_799_999, using: &random)
      let date = dates(milliseconds).since2001
      if try send(date) != (.timestamp(milliseconds), date) { changed.append(milliseconds) }
    }

    #expect(changed.isEmpty)
  }

  @Test func `a date of whole milliseconds since 1970 comes back within a microsecond, and then stays`() throws {
    var (random, changed) = (SplitMix64(seed: 2), [Int64]())

    for _ in 0..<10_000 {
      let milliseconds = Int64.random(in: 0...4_102_444_800_000, using: &random)
      let date = dates(milliseconds).since1970
      let (wire, read) = try send(date)
      let isNear = read.map { abs($0.timeIntervalSince(date)) < 0.000_001 } ?? false
      // Eighths of a second have an exact binary value.
      let isSame = milliseconds % 125 != 0 || read == date
      let again = try read.map(send)?.read
      if wire != .timestamp(milliseconds) || !isNear || !isSame || again != read { changed.append(milliseconds) }
    }

    #expect(changed.isEmpty)
  }
}
