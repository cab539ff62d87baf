package import CloudKit
import Foundation
import Synchronization

/// A transport that answers at once: what is measured with it is the client alone.
package final class ReplayedServer: CKTransport {
  /// What is answered.
  package enum Script: Sendable {
    /// The sample page, to every request.
    case page
    /// The sample page again and again, each time with the way to the next one, as far as a number of records.
    case pages(records: Int)
    /// Nothing: requests are taken and never sent, so that only writing them is measured.
    case nothing
  }

  private let script: Script
  private let pagesLeft: Mutex<Int>

  package init(_ script: Script) {
    self.script = script
    if case .pages(let records) = script { pagesLeft = Mutex(records / 200) } else { pagesLeft = Mutex(0) }
  }

  package func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
    switch script {
    case .page: return CKTransportResponse(status: 200, body: PlainPage.sampleBytes)
    case .nothing: throw CKTransportError(.notSent, "taken")
    case .pages:
      let left = pagesLeft.withLock { left in
        left -= 1
        return left
      }
      var body = PlainPage.sampleBytes
      if left > 0 { body.replaceSubrange((body.count - 1)..., with: Data(",\"continuationMarker\":\"\(left)\"}".utf8)) }
      return CKTransportResponse(status: 200, body: body)
    }
  }

  /// The database behind this transport.
  package var database: CKDatabase {
    CKContainer(identifier: "iCloud.benchmark", credential: nil, transport: self).privateCloudDatabase
  }
}

extension CKDatabase {
  /// All notes of the sample's zone, one page of them.
  package func samplePage() async throws -> [CKRecord] {
    let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
    let zoneID = CKRecordZone.ID(zoneName: "notes")
    return try await records(matching: query, inZoneWith: zoneID).matchResults.map { try $0.1.get() }
  }

  /// Counts the notes of all pages, which are dropped one after the other.
  package func countNotes(_ eachPage: (Int) -> Void) async throws -> Int {
    let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
    var page = try await records(matching: query, inZoneWith: CKRecordZone.ID(zoneName: "notes"))
    var count = page.matchResults.count
    eachPage(count)
    while let cursor = page.queryCursor {
      page = try await records(continuingMatchFrom: cursor)
      count += page.matchResults.count
      eachPage(count)
    }
    return count
  }

  /// Writes the request that creates records, and sends nothing.
  package func writeModify(_ records: [CKRecord]) async {
    do {
      _ = try await modifyRecords(saving: records, deleting: [])
    } catch CKError.networkUnavailable, CKError.networkFailure {
    } catch {
      preconditionFailure("The request was not written: \(error)")
    }
  }
}

extension CKRecord {
  /// The sample, or more of its like, as new records with all fields set.
  package static func samples(_ count: Int = PlainPage.sample.records.count) -> [CKRecord] {
    let zoneID = CKRecordZone.ID(zoneName: "notes")
    return (0..<count).map { index in
      let plain = PlainRecord(sample: index)
      let fields = plain.fields
      let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: plain.recordName, zoneID: zoneID))
      record["title"] = fields.title.value
      record["body"] = fields.body.value
      record["kind"] = fields.kind.value
      record["count"] = fields.count.value
      record["serial"] = fields.serial.value
      record["price"] = fields.price.value
      record["due"] = Date(timeIntervalSince1970: Double(fields.due.value) / 1000)
      record["digest"] = fields.digest.value
      let list = CKRecord.ID(recordName: fields.list.value.recordName, zoneID: zoneID)
      record["list"] = CKRecord.Reference(recordID: list, action: .none)
      record["tags"] = fields.tags.value
      return record
    }
  }

  /// Reads every field as a program would, and gives something that depends on all of them.
  package var readEverything: Int {
    var sum = (self["title"] as? String)?.utf8.count ?? 0
    sum += (self["body"] as? String)?.utf8.count ?? 0
    sum += (self["kind"] as? String)?.utf8.count ?? 0
    sum += self["count"] as? Int ?? 0
    sum &+= self["serial"] as? Int ?? 0
    sum += Int(self["price"] as? Double ?? 0)
    sum += Int((self["due"] as? Date)?.timeIntervalSince1970 ?? 0)
    sum += (self["digest"] as? Data)?.count ?? 0
    sum += (self["list"] as? CKRecord.Reference)?.recordID.recordName.utf8.count ?? 0
    return sum + ((self["tags"] as? [String])?.count ?? 0)
  }
}
