internal import Synchronization

/// The progress of an operation's records whose assets are transferred.
final class RecordProgress: Sendable {
  private let records = Mutex<[CKRecord.ID: AssetProgress]>([:])
  private let report: @Sendable (CKRecord.ID, Double) -> Void

  /// - Parameter report: Receives the fractions of each record, which rise and are less than 1. It must not block.
  init(report: @escaping @Sendable (CKRecord.ID, Double) -> Void) {
    self.report = report
  }

  /// Notes the size of an asset that will be transferred.
  func expect(_ bytes: Int64, of id: CKRecord.ID) {
    records.withLock { $0[id, default: AssetProgress()].expect(bytes) }
  }

  /// Returns the report of the bytes of a record's assets, as they are transferred.
  func bytes(of id: CKRecord.ID) -> AssetBytes.Report {
    AssetBytes.Report { [self] count in
      // Inside the lock, so that the fractions are reported in order.
      records.withLock { if let fraction = $0[id]?.add(count) { report(id, fraction) } }
    }
  }

  /// Ends the reports: a connection may still read a file after its transfer was given up.
  func end() {
    records.withLock { $0 = [:] }
  }
}

/// The fraction of the assets of one record that has been transferred.
struct AssetProgress {
  // Not integers, because a server may announce any size.
  private var total = 0.0
  private var done = 0.0

  /// Adds an asset's size to the total.
  mutating func expect(_ bytes: Int64) { total += Double(bytes) }

  /// Adds transferred bytes. Returns the fraction if it has reached the next twentieth and is less than 1.
  mutating func add(_ bytes: Int64) -> Double? {
    let last = twentieths
    done += Double(bytes)
    return twentieths > last && done < total ? done / total : nil
  }

  private var twentieths: Int { total > 0 ? Int(min(20 * done / total, 20)) : 0 }
}
