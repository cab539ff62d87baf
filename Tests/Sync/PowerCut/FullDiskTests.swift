import CloudKit
import Foundation
import Testing

@testable import CloudSync

/// A disk without room, as the kernel tells it to a real process.
@Suite(.serialized) struct FullDiskTests {
  @Test func `a file that may not grow refuses changes and keeps those accepted until there is room`() async {
    await #expect(processExitsWith: .success) {
      let scope = SyncStore.Scope(container: "iCloud.full", environment: "development", database: .private)
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent("full-\(UUID().uuidString)")
      defer { try? FileManager.default.removeItem(at: folder) }
      let store = try SyncStore(path: folder.appendingPathComponent("store.sqlite").path, scope: scope)
      signal(SIGXFSZ, SIG_IGN)
      let limit = rlimit(rlim_cur: 4_000_000, rlim_max: rlim_t.max)
      try setFileSizeLimit(limit)
      var accepted: [String] = []
      var refusal: StoreError?
      for number in 0..<1000 where refusal == nil {
        do throws(StoreError) {
          try accept("r\(number)", in: store)
          accepted.append("r\(number)")
        } catch {
          refusal = error
        }
      }
      try require(accepted.count > 10, "\(accepted.count) fitted in")
      try require(refusal?.isTransient == true, "\(refusal?.message ?? "all of them fitted in")")
      try require(try store.operations(limit: 1000).rows.map(\.key.name).sorted() == accepted.sorted(), "some are gone")

      try setFileSizeLimit(rlimit(rlim_cur: rlim_t.max, rlim_max: rlim_t.max))
      try accept("after", in: store)

      try require(try store.operations(limit: 1000).rows.count == accepted.count + 1, "no more is taken")
    }
  }
}

private struct Failed: Error {
  var what: String
}

/// In a process of its own an expectation's failure would be told to nobody.
private func require(_ isTrue: Bool, _ what: @autoclosure () -> String) throws(Failed) {
  guard !isTrue else { return }
  FileHandle.standardError.write(Data("\(what())\n".utf8))
  throw Failed(what: what())
}

private func accept(_ name: String, in store: SyncStore) throws(StoreError) {
  let fields = FieldChanges(values: ["text": .string(String(repeating: "x", count: 10_000))])
  let change = Change(RecordKey(ZoneKey(zone: "Full"), name), .save(type: "Note", fields))
  _ = try store.enqueue([change], isWhole: true)
}

private func setFileSizeLimit(_ limit: rlimit) throws(Failed) {
  var limit = limit
  try require(setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0, "the limit cannot be set")
}
