import CloudKit
import CloudService
import Facts
import Foundation
import TerminalUI
import Testing

@testable import CloudSync
@testable import Dashboard

/// The dashboard of a person in India, who reads no time in UTC.
struct LocalTimeTests {
  private static let format = Format(timeZone: TimeZone(secondsFromGMT: 19_800) ?? .gmt)

  private static func world(_ change: (inout World) -> Void) -> World {
    Sample.world {
      $0.format = format
      change(&$0)
    }
  }

  private static var detail: OperationDetail {
    var detail = Sample.detail
    let wait = Cause.waits(.database, code: "THROTTLED", until: Sample.now + 60_000)
    detail.operation?.apply(.answered)
    detail.operation?.cause = wait
    detail.operation?.changes = FieldChanges(values: ["due": .timestamp(Sample.now + 250)])
    detail.server?.fields["due"] = .timestamp(Sample.now)
    return detail
  }

  @Test func `the inspector of an operation has local times`() throws {
    let world = Self.world { $0.data.operation = ViewData.Read(11, Self.detail) }

    let text = try #require(OperationInspector(11, world).items).plain

    #expect(text.contains("until 08:35:05"))
    #expect(text.contains("2026-01-02 08:34:05.250+05:30") && text.contains("2026-01-02 08:34:05+05:30"))
    #expect(!text.contains("5Z") && !text.contains("03:0"))
  }

  @Test func `the inspector of a record has local times`() throws {
    let key = Sample.records[0].record.key
    var detail = Sample.recordDetail
    detail.row?.record.fields["due"] = .timestamp(Sample.now)
    detail.operation = Self.detail.operation
    let world = Self.world { $0.data.record = ViewData.Read(key, detail) }

    let text = try #require(RecordInspector(key, world).items).plain

    #expect(text.contains("2026-01-02 08:34:05+05:30") && text.contains("until 08:35:05"))
    #expect(!text.contains("5Z"))
  }

  @Test func `a ticket has local times with their offset`() throws {
    let scope = Sample.world().scope
    let ticket = Ticket(detail: Self.detail, scope: scope, host: "mail", now: Sample.now, format: Self.format)

    let text = try #require(ticket.text)

    #expect(text.contains("Time              2026-01-02 08:34:05+05:30"))
    #expect(text.contains("until 08:35:05") && !text.contains("5Z"))
  }
}
