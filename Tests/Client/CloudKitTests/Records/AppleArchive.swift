import Foundation

/// Builds keyed archives as Apple's `NSKeyedArchiver` lays them out, with Apple's class names.
///
/// The file format has references between objects that no property list type of Swift's can spell, so the binary form is
/// written here, byte by byte.
struct AppleArchive {
  /// What an archived object's key can hold.
  indirect enum Value {
    case string(String)
    case int(Int)
    case double(Double)
    case bool(Bool)
    case data(Data)
    /// An object of a class, by keys.
    case object(String, [String: Value])
    case none

    static func date(_ date: Date) -> Value {
      .object("NSDate", ["NS.time": .double(date.timeIntervalSinceReferenceDate)])
    }
    static func array(_ elements: [Value]) -> Value { .object("NSArray", ["NS.objects": .references(elements)]) }
    static func set(_ elements: [Value]) -> Value { .object("NSMutableSet", ["NS.objects": .references(elements)]) }
    static func dictionary(_ fields: [String: Value]) -> Value {
      let keys = fields.keys.sorted()
      return .object(
        "NSMutableDictionary",
        ["NS.keys": .references(keys.map(Value.string)), "NS.objects": .references(keys.compactMap { fields[$0] })]
      )
    }
    static func url(_ url: URL) -> Value {
      .object("NSURL", ["NS.base": .none, "NS.relative": .string(url.absoluteString)])
    }

    /// Plain references, as Foundation's collections keep them.
    static func references(_ elements: [Value]) -> Value { .object("", ["": .list(elements)]) }
    case list([Value])
  }

  private indirect enum Node {
    case string(String)
    case int(Int)
    case double(Double)
    case bool(Bool)
    case data(Data)
    case reference(Int)
    case array([Node])
    case dictionary([(String, Node)])
  }

  private var objects: [Node] = [.string("$null")]
  private var classes: [String: Int] = [:]

  /// An archive with values under keys of its top level.
  static func data(_ top: [String: Value]) -> Data {
    var archive = AppleArchive()
    let roots = top.sorted { $0.key < $1.key }.map { ($0.key, archive.inline($0.value)) }
    let root = Node.dictionary([
      ("$version", .int(100_000)), ("$objects", .array(archive.objects)), ("$archiver", .string("NSKeyedArchiver")),
      ("$top", .dictionary(roots)),
    ])
    return PropertyListWriter.data(root)
  }

  /// A value as it stands under a key: numbers themselves, everything else by reference.
  private mutating func inline(_ value: Value) -> Node {
    switch value {
    case .int(let number): .int(number)
    case .double(let number): .double(number)
    case .bool(let flag): .bool(flag)
    case .object("", let content):
      if case .list(let elements)? = content[""] { .array(elements.map { reference($0) }) } else { .reference(0) }
    default: reference(value)
    }
  }

  private mutating func reference(_ value: Value) -> Node {
    switch value {
    case .none, .list: return .reference(0)
    case .string(let text): objects.append(.string(text))
    case .int(let number): objects.append(.int(number))
    case .double(let number): objects.append(.double(number))
    case .bool(let flag): objects.append(.bool(flag))
    case .data(let data): objects.append(.data(data))
    case .object(let name, let keys):
      let index = objects.count
      objects.append(.string(""))
      var content = keys.sorted { $0.key < $1.key }.map { ($0.key, inline($0.value)) }
      content.append(("$class", .reference(classIndex(name))))
      objects[index] = .dictionary(content)
      return .reference(index)
    }
    return .reference(objects.count - 1)
  }

  private mutating func classIndex(_ name: String) -> Int {
    if let index = classes[name] { return index }
    objects.append(
      .dictionary([("$classes", .array([.string(name), .string("NSObject")])), ("$classname", .string(name))])
    )
    classes[name] = objects.count - 1
    return objects.count - 1
  }

  /// Writes Apple's binary property lists, whose references (`UID`) are what this is for.
  private struct PropertyListWriter {
    private var items: [[UInt8]] = []

    static func data(_ root: Node) -> Data {
      var writer = PropertyListWriter()
      _ = writer.add(root)
      var bytes = Array("bplist00".utf8)
      var offsets: [Int] = []
      for item in writer.items {
        offsets.append(bytes.count)
        bytes += item
      }
      let table = bytes.count
      for offset in offsets { bytes += bigEndian(offset, 4) }
      bytes += [0, 0, 0, 0, 0, 0, 4, 2]
      bytes += bigEndian(offsets.count, 8) + bigEndian(0, 8) + bigEndian(table, 8)
      return Data(bytes)
    }

    private mutating func add(_ node: Node) -> Int {
      let index = items.count
      items.append([])
      items[index] = bytes(node)
      return index
    }

    private mutating func bytes(_ node: Node) -> [UInt8] {
      switch node {
      case .bool(let flag): [flag ? 0x09 : 0x08]
      case .int(let number): [0x13] + Self.bigEndian(number, 8)
      case .double(let number): [0x23] + Self.bigEndian(Int(bitPattern: UInt(number.bitPattern)), 8)
      case .data(let data): Self.head(0x40, data.count) + Array(data)
      case .string(let text): Self.head(0x60, text.utf16.count) + text.utf16.flatMap { Self.bigEndian(Int($0), 2) }
      case .reference(let index): [0x81] + Self.bigEndian(index, 2)
      case .array(let nodes): Self.head(0xA0, nodes.count) + nodes.flatMap { Self.bigEndian(add($0), 2) }
      case .dictionary(let pairs):
        Self.head(0xD0, pairs.count) + pairs.flatMap { Self.bigEndian(add(.string($0.0)), 2) }
          + pairs.flatMap { Self.bigEndian(add($0.1), 2) }
      }
    }

    private static func head(_ marker: UInt8, _ count: Int) -> [UInt8] {
      count < 15 ? [marker | UInt8(count)] : [marker | 0x0F, 0x11] + bigEndian(count, 2)
    }

    private static func bigEndian(_ number: Int, _ width: Int) -> [UInt8] {
      (0..<width).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }
  }
}

extension AppleArchive {
  /// System fields that Apple's framework wrote on an iPad in 2025: the `recordSystemFields` that Jinwoo Kim published in
  /// a comment of ViewController.mm of DeviceActivityReportExtensionObjC, on GitHub.
  static let systemFieldsOfFramework = Data(
    base64Encoded: """
      YnBsaXN0MDDUAQIDBAUGB2JYJHZlcnNpb25ZJGFyY2hpdmVyVCR0b3BYJG9iamVjdHMSAAGGoF8QD05TS2V5ZWRBcmNoaXZlct8QLQgJCgsMDQ4P
      EBESExQVFhcYGRobHB0eHyAhIiMkJSYnKCkqKywtLi8wMTIzNDU2NTg1NTY8NTU1NjY1NTU2Rkc1NTVLNU01TzU2NTU1NTZXWDY1NjVdXjU2NV8Q
      FlRvbWJzdG9uZWRQdWJsaWNLZXlJRHNfEBlIYXNVcGRhdGVkUGFyZW50UmVmZXJlbmNlXxATQ2hhaW5Qcm90ZWN0aW9uRGF0YV1Lbm93blRvU2Vy
      dmVyXxARRGlzcGxheWVkSG9zdG5hbWVZQmFzZVRva2VuXxAQV2FudHNDaGFpblBDU0tleVtSZWNvcmRDdGltZVpSb3V0aW5nS2V5XxASUHJvdGVj
      dGlvbkRhdGFFdGFnXkV4cGlyYXRpb25EYXRlXxAZTWVyZ2VhYmxlVmFsdWVEZWx0YVJlY29yZF8QGk5lZWRzUm9sbEFuZENvdW50ZXJTaWduS2V5
      XxAmUHJldmlvdXNQcm90ZWN0aW9uRGF0YUV0YWdGcm9tVW5pdFRlc3RfEBJDb25mbGljdExvc2VyRXRhZ3NfEBpQcmV2aW91c1Byb3RlY3Rpb25E
      YXRhRXRhZ18QFEhhc1VwZGF0ZWRFeHBpcmF0aW9uWlJlY29yZFR5cGVfEBNDcmVhdG9yVXNlclJlY29yZElEXxAPUGFyZW50UmVmZXJlbmNlWVNo
      YXJlRXRhZ1hQQ1NLZXlJRFxab25laXNoS2V5SURfECBNdXRhYmxlRW5jcnlwdGVkUHVibGljU2hhcmluZ0tleVRFVGFnXxAWUHJldmlvdXNTaGFy
      ZVJlZmVyZW5jZV8QEE1vZGlmaWVkQnlEZXZpY2VeUHJvdGVjdGlvbkRhdGFfEBFVc2VMaWdodHdlaWdodFBDU15TaGFyZVJlZmVyZW5jZV8QEVVw
      ZGF0ZWRFeHBpcmF0aW9uU1VSTF8QFkNoYWluUGFyZW50UHVibGljS2V5SURXRXhwaXJlZF8QGExhc3RNb2RpZmllZFVzZXJSZWNvcmRJRFtSZWNv
      cmRNdGltZV8QFVdhbnRzUHVibGljU2hhcmluZ0tleV8QFlpvbmVQcm90ZWN0aW9uRGF0YUV0YWdZV2FzQ2FjaGVkXxAPQ2hhaW5Qcml2YXRlS2V5
      WlBlcm1pc3Npb25YUmVjb3JkSURcQWxsUENTS2V5SURzXxAYSGFzVXBkYXRlZFNoYXJlUmVmZXJlbmNlXxAXUHJldmlvdXNQYXJlbnRSZWZlcmVu
      Y2WAAAiAAAmAAIAACIAJgACAAIAACAiAAIAAgAAIgAGADIAAgACAAIASgACAEYAAgBCAAAiAAIAAgACAAAiAD4ALCIAACIAAEAGAAoAACIAArxAT
      Y2RlbG13eHmAhIiLjpKXmJydnlUkbnVsbF8QD0FjdGl2aXR5U2VnbWVudNNmZ2hpamtWJGNsYXNzWlJlY29yZE5hbWVWWm9uZUlEgAiAA4AEWzc2
      Njc2NzYwMC4w1W5vcHFmcjV0dXZfEBBkYXRhYmFzZVNjb3BlS2V5XxARYW5vbnltb3VzQ0tVc2VySURZb3duZXJOYW1lWFpvbmVOYW1lEACAAIAG
      gAWAB18QKzlDMUJDRjAyLThDNjUtNEIwNS1CNjEzLURCMjg4MTU5MkFBRV9XZWVrbHlfEBBfX2RlZmF1bHRPd25lcl9f0np7fH1aJGNsYXNzbmFt
      ZVgkY2xhc3Nlc15DS1JlY29yZFpvbmVJRKJ+f15DS1JlY29yZFpvbmVJRFhOU09iamVjdNJ6e4GCWkNLUmVjb3JkSUSig39aQ0tSZWNvcmRJRNKF
      ZoaHV05TLnRpbWUjQcbd3TpcKPaACtJ6e4mKVk5TRGF0ZaKJf9KFZoyHI0HG3miV7jU/gArTZmdoaXSRgAiABoAN1W5vcHFmcjV0lXaAAIAGgA6A
      B1xfZGVmYXVsdFpvbmXTZmdoaXSRgAiABoANXxAPUG90YXRvLWlQYWQgUHJvWG05d3M2NTZwRBmHlJEACAARABoAJAApADIANwBJAKYAvwDbAPEA
      /wETAR0BMAE8AUcBXAFrAYcBpAHNAeIB/wIWAiECNwJJAlMCXAJpAowCkQKqAr0CzALgAu8DAwMHAyADKANDA08DZwOAA4oDnAOnA7ADvQPYA/ID
      9AP1A/cD+AP6A/wD/QP/BAEEAwQFBAYEBwQJBAsEDQQOBBAEEgQUBBYEGAQaBBwEHgQgBCIEJAQlBCcEKQQrBC0ELgQwBDIEMwQ1BDYEOAQ6BDwE
      PgQ/BEEEVwRdBG8EdgR9BIgEjwSRBJMElQShBKwEvwTTBN0E5gToBOoE7ATuBPAFHgUxBTYFQQVKBVkFXAVrBXQFeQWEBYcFkgWXBZ8FqAWqBa8F
      tgW5Bb4FxwXJBdAF0gXUBdYF4QXjBeUF5wXpBfYF/QX/BgEGAwYVBh4AAAAAAAACAQAAAAAAAACfAAAAAAAAAAAAAAAAAAAGIw==
      """,
    options: .ignoreUnknownCharacters
  )!
}
