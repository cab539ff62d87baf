// Room: CloudKitEmulator
// Sources: **/*.swift
// Without: HTTP/*.swift
// Links: CloudKitSchema GRDB Crypto CryptoBoringWrapper CCryptoBoringSSL CCryptoBoringSSLShims CXKCP CXKCPShims

import CloudKitSchema
import Foundation
import JSONText

/// Whatever requests arrive, one after the other at one emulator: each is answered as Apple's server words it, what is
/// refused changes nothing, an atomic batch is carried out whole or not at all, equal requests get equal answers, and the
/// schema stays one that can be read.
///
/// An input is requests apart by a line `---`: a line with method and target, headers, an empty line, the body. A target
/// without a leading slash lies in the container of the test, one without a query is ana's. `$` and the name of a key that
/// earlier answers had stands for its last value.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzEmulator(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let input = Data(bytes: start, count: count)
  let first = Session().run(input)
  // Each input twice would halve the speed.
  if count % 8 == 0 { precondition(Session().run(input) == first, "Equal requests got other answers.") }
  return 0
}

/// One emulator with a zone and a record, and what its answers have taught.
private final class Session {
  private let emulator: Emulator
  private let admin: AdminEndpoint
  private var known: [String: Data] = [:]
  private var clock = Date(timeIntervalSince1970: 1_767_322_800)

  init() {
    var configuration = EmulatorConfiguration()
    configuration.assetSizeLimit = 2000
    guard let emulator = try? Emulator(configuration: configuration) else { preconditionFailure("No emulator.") }
    self.emulator = emulator
    admin = AdminEndpoint(
      emulator: emulator,
      access: AdminAccess(),
      now: { Date(timeIntervalSince1970: 1_767_322_800) }
    )
    let database = EmulatorDatabase.private(of: "ana", "iCloud.test")
    let fields: [String: EmulatorValue?] = ["title": .string("Milk"), "n": .int64(1)]
    do {
      try emulator.createZone("notes", in: database, at: clock)
      try emulator.save(
        in: database,
        zone: "notes",
        recordType: "Note",
        recordName: "note-1",
        fields: fields,
        at: clock
      )
    } catch {
      preconditionFailure("\(error)")
    }
  }

  /// The answers, for comparison.
  func run(_ input: Data) -> [Data] {
    var answers: [Data] = []
    for text in input.split(between: Data("\n---\n".utf8)).prefix(16) {
      clock += 1
      let request = request(text)
      if AdminEndpoint.has(path: request.path) {
        let response = admin.reply(to: request).response
        if let body = response?.body, response?.header("content-type")?.hasPrefix("application/json") == true {
          precondition((try? JSONSerialization.jsonObject(with: body)) != nil, "The admin's answer is no JSON.")
        }
        continue
      }
      let before = emulator.dump()
      let reply = emulator.handle(request, at: emulator.time(at: clock))
      let after = emulator.dump()
      switch reply.outcome {
      case .respond(let response):
        // A fault may delete a zone before a request is refused.
        let isCalm = emulator.faults.rules.isEmpty
        check(response, request, isUnchanged: before == after || !isCalm)
        answers.append(response.body)
      case .hold(let hold): _ = emulator.wait(for: hold) { _ in }
      case .drop(committed: false), .offline: precondition(before == after, "What was dropped took effect.")
      case .drop, .truncate: break
      }
    }
    // A data file has the schema as a text, and no start reads a file with one that is none.
    let schema = emulator.exportSchema(container: "iCloud.test")
    precondition((try? CKSchema(parsing: schema)) != nil, "The schema cannot be read again.")
    return answers
  }

  private func request(_ text: Data) -> EmulatorRequest {
    let parts = text.split(between: Data("\n\n".utf8), maxSplits: 1)
    let lines = String(decoding: parts.first ?? Data(), as: UTF8.self).split(separator: "\n", maxSplits: 20)
    let words = (lines.first ?? "").split(separator: " ", maxSplits: 1)
    var target = words.count > 1 ? String(decoding: filled(Data(words[1].utf8)), as: UTF8.self) : ""
    if !target.hasPrefix("/") { target = "/database/1/iCloud.test/development/\(target)" }
    let halves = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    return EmulatorRequest(
      method: words.first.map(String.init) ?? "",
      path: halves[0],
      query: halves.count > 1 ? halves[1] : "ckAPIToken=t&ckWebAuthToken=ana",
      headers: lines.dropFirst().compactMap { line in
        let pair = line.split(separator: ":", maxSplits: 1)
        return pair.count == 2 ? EmulatorHeader(String(pair[0]), String(pair[1].drop { $0 == " " })) : nil
      } + [EmulatorHeader("Host", "127.0.0.1")],
      body: parts.count > 1 ? filled(parts[1]) : Data()
    )
  }

  /// Puts what is known in the place of `$key`.
  private func filled(_ text: Data) -> Data {
    guard text.contains(UInt8(ascii: "$")) else { return text }
    var filled = Data()
    var rest = text[...]
    while let mark = rest.firstIndex(of: UInt8(ascii: "$")) {
      filled += rest[..<mark]
      let key = rest[(mark + 1)...].prefix { (UInt8(ascii: "A")...UInt8(ascii: "z")).contains($0) }
      filled += known[String(decoding: key, as: UTF8.self)] ?? rest[mark..<key.endIndex]
      rest = rest[key.endIndex...]
      if filled.count > 1 << 16 { break }
    }
    return filled + rest
  }

  private func check(_ response: EmulatorResponse, _ request: EmulatorRequest, isUnchanged: Bool) {
    let type = response.header("content-type") ?? ""
    guard type.hasPrefix("application/json") else {
      let isPlain = request.method == "OPTIONS" || [413, 500, 502, 503, 504].contains(response.status)
      let isElsewhere = ["/sign-in", "/aps", "/assets/"].contains { request.path.hasPrefix($0) }
      precondition(isPlain || isElsewhere || (500...599).contains(response.status), "An answer without an envelope.")
      return
    }
    if request.path == "/aps", response.body.isEmpty { return }
    guard let object = (try? JSONSerialization.jsonObject(with: response.body)) as? [String: Any] else {
      preconditionFailure("An answer is no JSON object.")
    }
    if let json = try? JSON(json: response.body) { learn(json, 0) }
    if response.status >= 400 {
      let code = object["serverErrorCode"] as? String
      precondition(code.flatMap(ServerError.Code.init) != nil && object["reason"] is String, "An error without a code.")
      precondition(object["uuid"] as? String == response.header("x-apple-request-uuid"), "An error of another request.")
      precondition(isUnchanged, "What was refused took effect.")
    } else if request.path.hasSuffix("records/modify"), let body = try? JSON(json: request.body).object {
      let zone = body["zoneID"]?.object?["zoneName"]?.string ?? "_defaultZone"
      let errors = (object["records"] as? [[String: Any]] ?? []).contains { $0["serverErrorCode"] != nil }
      let isAtomic = zone != "_defaultZone" && body["atomic"]?.bool ?? true
      precondition(!isAtomic || !errors || isUnchanged, "An atomic batch was carried out by half.")
    }
  }

  private func learn(_ json: JSON, _ depth: Int) {
    guard depth < 8 else { return }
    switch json {
    case .array(let elements): for element in elements { learn(element, depth + 1) }
    case .object(let object):
      for member in object.members {
        if let text = member.value.string, text.utf8.count < 4096 {
          known[member.key] = text.contains("\"") ? nil : Data(text.replacing("http://127.0.0.1", with: "").utf8)
        } else if member.key == "singleFile" {
          known[member.key] = member.value.data
        }
        learn(member.value, depth + 1)
      }
    default: break
    }
  }
}

extension Data {
  fileprivate func split(between separator: Data, maxSplits: Int = .max) -> [Data] {
    var parts: [Data] = []
    var rest = self[...]
    while parts.count < maxSplits, let range = rest.range(of: separator) {
      parts.append(Data(rest[..<range.lowerBound]))
      rest = rest[range.upperBound...]
    }
    return parts + [Data(rest)]
  }
}
