import ArgumentParser
import CloudSync
import Foundation

/// The output of `status --at`.
struct MomentObject: PrintedObject {
  let moment: Moment
  let events: [EventRow]

  static let jsonFields = (["at": .time(\.moment.at), "verdicts": .list(verdict, \.moment.spans)] as JSONFields<Self>)
    .adding(Throughput.jsonFields.of(\.moment.counts)).adding(["events": .list(\.events)])

  private static let verdict: JSONFields<VerdictSpan> = [
    "verdict": .text(\.state?.rawValue), "since": .time(\.from), "until": .time(\.until),
  ]
}

/// A minute of the day in local time, such as `02:47`.
struct MinuteOfDay: Hashable, Sendable {
  let hour: Int
  let minute: Int

  init(_ text: String) throws {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, parts.allSatisfy({ (1...2).contains($0.count) }), let hour = Int(parts[0]),
      let minute = Int(parts[1]), (0..<24).contains(hour), (0..<60).contains(minute)
    else { throw ValidationError("'\(text)' is not a time of day; write one such as 02:47") }
    (self.hour, self.minute) = (hour, minute)
  }

  /// The last such minute up to a time in milliseconds since 1970, in minutes since 1970.
  func latest(before now: Int64, in timeZone: TimeZone = .current) -> Int64 {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = timeZone
    let time = Date(timeIntervalSince1970: Double(now + 1) / 1000)
    let components = DateComponents(hour: hour, minute: minute)
    let found = calendar.nextDate(after: time, matching: components, matchingPolicy: .nextTime, direction: .backward)
    return Int64((found ?? time).timeIntervalSince1970 / 60)
  }
}
