import Foundation
import TestSupport
import Testing

@testable import cktop

/// `status --json` against the schema that scripts rely on: keys may be added, none may disappear or change its type.
@Suite(.serialized) struct StatusSchemaTests {
  private enum JSON: Decodable {
    case null, bool, number
    case text(String)
    case list([JSON])
    case object([String: JSON])

    init(from decoder: any Decoder) throws {
      let value = try decoder.singleValueContainer()
      if value.decodeNil() {
        self = .null
      } else if (try? value.decode(Bool.self)) != nil {
        self = .bool
      } else if (try? value.decode(Double.self)) != nil {
        self = .number
      } else if let text = try? value.decode(String.self) {
        self = .text(text)
      } else if let list = try? value.decode([JSON].self) {
        self = .list(list)
      } else {
        self = .object(try value.decode([String: JSON].self))
      }
    }

    init(parsing text: String) throws { self = try JSONDecoder().decode(JSON.self, from: Data(text.utf8)) }
  }

  /// Where and how a value differs from a schema; empty where it fits.
  ///
  /// In a schema a text names a type (`text`, `number`, `bool`, `time`) or lists the values of a text, and ends with `?`
  /// where null may stand. An object with the key `?` may be null; `*` stands for any key.
  private static func differences(_ value: JSON, _ schema: JSON, at path: String = "$") -> [String] {
    switch (schema, value) {
    case (.text(let name), .null): return name.hasSuffix("?") ? [] : ["\(path) is null"]
    case (.text(let name), _):
      let kind = name.hasSuffix("?") ? String(name.dropLast()) : name
      return isOf(kind, value) ? [] : ["\(path) is no \(kind)"]
    case (.object(let keys), .null): return keys["?"] == nil ? ["\(path) is null"] : []
    case (.object(let keys), .object(let object)):
      if let each = keys["*"] { return object.flatMap { differences($1, each, at: "\(path).\($0)") } }
      let unknown = Set(object.keys).subtracting(keys.keys).map { "\(path).\($0) is not in the schema" }
      let known = keys.filter { $0.key != "?" }
      return unknown
        + known.flatMap { key, part in
          object[key].map { differences($0, part, at: "\(path).\(key)") } ?? ["\(path).\(key) is missing"]
        }
    case (.list(let elements), .list(let list)):
      return list.enumerated().flatMap { differences($1, elements[0], at: "\(path)[\($0)]") }
    default: return ["\(path) has another shape"]
    }
  }

  private static func isOf(_ kind: String, _ value: JSON) -> Bool {
    switch (kind, value) {
    case ("bool", .bool), ("number", .number), ("text", .text): true
    case ("time", .text(let text)): text.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil
    case (_, .text(let text)): kind.split(separator: "|").contains { $0 == text }
    default: false
    }
  }

  private static var schema: JSON {
    get throws { try JSON(parsing: packageText("Tests/Program/cktopTests/Output/status.schema.json")) }
  }

  /// The keys of a schema, with those of the objects inside as paths.
  private static func paths(_ schema: JSON, under path: String = "") -> Set<String> {
    switch schema {
    case .list(let elements): paths(elements[0], under: path)
    case .object(let keys):
      Set(
        keys.filter { !["?", "*"].contains($0.key) }.flatMap {
          [path + $0.key] + paths($0.value, under: "\(path)\($0.key).")
        }
      )
    default: []
    }
  }

  private static func paths(_ shape: JSONShape, under path: String = "") -> Set<String> {
    Set(
      shape.fields.flatMap { field in
        [path + field.name] + (field.inner.map { paths($0, under: "\(path)\(field.name).") } ?? [])
      }
    )
  }

  @Test func `the schema has the fields that are printed`() throws {
    #expect(try Self.paths(Self.schema) == Self.paths(StatusObject.shape))
  }

  private func check(_ machine: Machine) async throws {
    let output = try await machine.run("status", "--json").output
    #expect(try Self.differences(JSON(parsing: output), Self.schema) == [])
  }

  @Test func `the status of a store has the keys of the schema in every state`() async throws {
    let cloud = try await Cloud(
      faults: """
        [[rules]]
        when = { operation = "records/modify", recordName = "bad", limit = 1 }
        then = "poison"
        """
    )
    let machine = try Machine(cloud)
    try await check(machine)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "bad", "a=1")
    try await machine.succeed("queue", "pause", "--type", "Task")
    try await check(machine)
    try await machine.succeed("queue", "resume", "--all")
    _ = try await machine.run("sync")
    try await check(machine)
    try await machine.succeed("queue", "retry", "--all")
    try await machine.succeed("sync")
    try await check(machine)
    await cloud.kill()
    _ = try await machine.run("sync")
    try await check(machine)
  }

  @Test(
    arguments: [
      (#"{"a": 1}"#, #"{"a": "number"}"#, 0), (#"{"a": 1}"#, #"{"a": "text"}"#, 1), (#"{}"#, #"{"a": "text?"}"#, 1),
      (#"{"a": null}"#, #"{"a": "text?"}"#, 0), (#"{"a": null}"#, #"{"a": "text"}"#, 1),
      (#"{"a": true}"#, #"{"a": "bool"}"#, 0), (#"{"a": true}"#, #"{"a": "number"}"#, 1),
      (#"{"a": [1, "x"]}"#, #"{"a": ["number"]}"#, 1), (#"{"a": 1, "b": 2}"#, #"{"a": "number"}"#, 1),
      (#"{"a": "idle"}"#, #"{"a": "idle|error"}"#, 0), (#"{"a": "other"}"#, #"{"a": "idle|error"}"#, 1),
      (#"{"a": {"x": 1}}"#, #"{"a": {"*": "number"}}"#, 0), (#"{"a": null}"#, #"{"a": {"?": "", "b": "text"}}"#, 0),
    ]
  )
  func `a difference from a schema is found`(json: String, schema: String, count: Int) throws {
    #expect(try Self.differences(JSON(parsing: json), JSON(parsing: schema)).count == count)
  }
}
