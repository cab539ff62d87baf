// Room: CloudKitWebServices
// Sources: Wire/*.swift Transport/CKTransport.swift Transport/CKAssetTransport.swift Calls/HTTPDate.swift
// Sources: Calls/Responses.swift
// Links: CloudKitSchema

// Exported, as the module itself exports it.
@_exported public import Foundation
import JSONText

/// Whatever bytes arrive are read or refused; what is read can be written, and then reads as the same. An input is a body,
/// and a reply with a head: a line with a status, header fields, an empty line, a body.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzDecoder(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  // Not copied: a byte read past the end is one that the sanitizer knows not to be ours.
  let bytes = Data(bytesNoCopy: UnsafeMutableRawPointer(mutating: start), count: count, deallocator: .none)

  if let answer = try? WireResults<WireRecord>(json: bytes) { check(answer.elements) }
  if let answer = try? WireResults<WireZoneChanges>(json: bytes) {
    for case .item(let page) in answer.elements { check(page.records) }
  }
  _ = try? WireItemError(json: bytes)
  if let value = try? JSON(json: bytes) { precondition(isKept(value)) }
  if let fields = try? [String: FieldValue](json: bytes) { precondition(isKept(fields)) }
  check(reply(bytes))
  return 0
}

private func reply(_ bytes: Data) -> CKTransportResponse {
  let end = bytes.range(of: Data("\n\n".utf8))
  let lines = String(decoding: bytes[..<(end?.lowerBound ?? bytes.endIndex)], as: UTF8.self)
    .split(separator: "\n", omittingEmptySubsequences: false)
  return CKTransportResponse(
    status: lines.first.flatMap { Int($0) } ?? 429,
    headers: lines.dropFirst().map { line in
      let pair = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      return CKHTTPHeader(String(pair[0]), pair.count > 1 ? String(pair[1].drop { $0 == " " }) : "")
    },
    body: end.map { Data(bytes[$0.upperBound...]) } ?? bytes
  )
}

/// A refusal says how long to wait, and nothing that may not be shown.
private func check(_ response: CKTransportResponse) {
  for now in [Date(timeIntervalSince1970: 1_767_322_800), .distantPast, .distantFuture] {
    let error = WebServicesError(refusal: response, now: now)
    precondition(error.retryAfter.map { $0 >= 0 && $0 <= 315_576_000 } ?? true, "An endless wait.")
    for text in [error.reason, error.response ?? "", error.code.name, error.uuid ?? ""] {
      precondition(text.unicodeScalars.count <= 500, "A long text.")
    }
    guard let page = error.redirectURL else { continue }
    precondition(page.utf8.allSatisfy { (0x21...0x7E).contains($0) } && page.utf8.count < 8192, "An odd address.")
    precondition(page.lowercased().hasPrefix("http") && URL(signInPage: page) != nil, "A page that is not offered.")
  }
  _ = response.isMisdirected
}

private func check(_ elements: [WireResult<WireRecord>]) {
  for case .item(let record) in elements {
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
