// Sources: Wire/*.swift

// Exported, as the module itself exports it.
@_exported public import Foundation

/// Whatever bytes arrive are read or refused; what is read can be written, and then reads as the same.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzDecoder(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  // Not copied: a byte read past the end is one that the sanitizer knows not to be ours.
  let bytes = Data(bytesNoCopy: UnsafeMutableRawPointer(mutating: start), count: count, deallocator: .none)

  if let answer = try? WireRecords(json: bytes) { check(answer.records) }
  if let answer = try? WireZonesChanges(json: bytes) {
    for case .changes(let page) in answer.zones { check(page.records) }
  }
  _ = try? WireItemError(json: bytes)
  if let value = try? JSONValue(json: bytes) { precondition(isKept(value)) }
  if let fields = try? [String: FieldValue](json: bytes) { precondition(isKept(fields)) }
  return 0
}

private func check(_ elements: [WireRecordResult]) {
  for case .record(let record) in elements {
    precondition(isKept(record.fields))
    guard let written = try? record.json(), let read = try? WireRecord(json: written) else {
      preconditionFailure("A record that was read cannot be written.")
    }
    precondition(read.recordName == record.recordName && read.fields == record.fields)
  }
}

private func isKept(_ value: some JSONReadable & JSONWritable & Equatable) -> Bool {
  guard let written = try? value.json(), let read = try? type(of: value).init(json: written) else { return false }
  return read == value && (try? read.json()) == written
}
