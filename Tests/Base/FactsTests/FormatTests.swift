import Foundation
import Testing

@testable import Facts

/// How people read times: local, wherever they are.
struct FormatTests {
  private static func east(_ seconds: Int) -> Format { Format(timeZone: TimeZone(secondsFromGMT: seconds) ?? .gmt) }
  /// 2026-01-02T03:04:05.250Z.
  private static let time: Int64 = 1_767_323_045_250

  private static let places: [(east: Int, stamp: String, value: String)] = [
    (0, "2026-01-02T03:04:05.250Z", "2026-01-02 03:04:05.250Z"),
    (19_800, "2026-01-02T08:34:05.250+05:30", "2026-01-02 08:34:05.250+05:30"),
    (-12_600, "2026-01-01T23:34:05.250-03:30", "2026-01-01 23:34:05.250-03:30"),
  ]

  @Test(arguments: places.indices)
  func `a time with its offset is local, and reads back exactly`(index: Int) {
    let place = Self.places[index]
    let format = Self.east(place.east)

    #expect(format.stamp(Self.time) == place.stamp)
    #expect(format.value(Self.time) == place.value)
    for milliseconds in [Self.time, Self.time - 250, -1, -62_135_596_800_000] {
      #expect(RFC3339.milliseconds(format.stamp(milliseconds)) == milliseconds)
      #expect(RFC3339.milliseconds(format.value(milliseconds)) == milliseconds)
    }
  }

  @Test func `a value of whole seconds has no fraction`() {
    #expect(Self.east(3600).value(Self.time - 250) == "2026-01-02 04:04:05+01:00")
  }

  @Test(
    arguments: [
      ("2026-01-02", 1_767_308_400_000, 86_400_000), ("2026-01-02T03", 0, 0),
      ("2026-01-02T03:04", 1_767_319_440_000, 60_000),
      ("2026-01-02 03:04:05", 1_767_319_445_000, 1000), ("2026-01-02T03:04:05.250", 1_767_319_445_250, 1),
      ("2026-01-02T03:04:05Z", 1_767_323_045_000, 1000), ("2026-01-02T03:04:05+05:30", 1_767_303_245_000, 1000),
      // Days of 23 and 25 hours.
      ("2026-03-29", 1_774_738_800_000, 82_800_000), ("2026-10-25", 1_792_879_200_000, 90_000_000),
      // The first of two, and one that clocks skip.
      ("2026-10-25T02:30", 1_792_888_200_000, 60_000), ("2026-03-29T02:30", 1_774_747_800_000, 60_000),
    ] as [(String, Int64, Int64)]
  )
  func `a text without an offset stands for local times`(text: String, start: Int64, length: Int64) throws {
    let zone = try #require(TimeZone(identifier: "Europe/Berlin"))

    #expect(Format(timeZone: zone).times(text) == (length == 0 ? nil : start..<start + length))
  }

  @Test func `a time outside the calendar is a number`() {
    #expect(Self.east(3600).value(.max) == String(Int64.max))
  }

  @Test(arguments: [
    Cause.waits(.database, code: "THROTTLED", until: time),
    .noted(.waits(.network, code: "NETWORK_ERROR", until: time), .serverChanged),
  ])
  func `a person reads the end of a wait in local time, a program in UTC`(cause: Cause) {
    #expect(cause.text(Self.east(19_800), now: Self.time).contains(" 08:34:05"))
    #expect(!cause.text(Self.east(19_800), now: Self.time).contains("Z"))
    #expect(cause.text.contains("2026-01-02T03:04:05.250Z"))
  }
}
