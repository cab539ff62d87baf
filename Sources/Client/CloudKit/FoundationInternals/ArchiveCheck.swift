internal import Foundation

/// Checks a keyed archive before its first object is decoded.
///
/// Foundation on Linux ends the process at an object that contains itself, a known class that was not asked for, a
/// `$class` that is no class, a URL or UUID of other contents, and a dictionary whose values cannot all be decoded. One
/// damaged byte can cause each of these.
///
/// Only the keys that CloudKit decodes are checked. An app may have objects of its own classes under other keys.
struct ArchiveCheck {
  /// The kinds of objects in an archive.
  private enum Kind {
    case null, text, value
    /// An object of a class; nil for a class that does not exist here.
    case object(AnyClass?)
  }

  /// The result of the check of an object.
  private struct Finding {
    let kind: Kind
    /// Whether decoding it causes no error.
    let isSound: Bool
  }

  private struct Damage: Error {}

  private let unarchiver: NSKeyedUnarchiver
  private let objects: [Any]
  private let top: [String: Any]
  /// The objects that were checked; nil for those that are being checked.
  private var findings: [Int: Finding?] = [:]
  private var depth = 0

  /// Makes a check of an archive; nil if its contents cannot be read.
  private init?(_ unarchiver: NSKeyedUnarchiver) {
    guard let contents = unarchiver.contents else { return nil }
    self.unarchiver = unarchiver
    (objects, top) = contents
  }

  /// Whether decoding the values of some keys at the top level causes no more than an error.
  static func passes(_ unarchiver: NSKeyedUnarchiver, _ isChecked: (String) -> Bool) -> Bool {
    guard var check = ArchiveCheck(unarchiver) else { return true }
    return (try? check.checkValues(of: check.top.filter { isChecked($0.key) })) != nil
  }

  /// Whether Foundation can read the property list. It ends the process at some sets, which no archive has: an archiver
  /// writes a set as an object.
  static func canBeRead(_ data: Data) -> Bool {
    let bytes = [UInt8](data)
    guard bytes.starts(with: "bplist".utf8) else { return true }
    func number(at place: Int, _ width: Int) -> Int? {
      guard place >= 0, width <= 8, place <= bytes.count - width else { return nil }
      return Int(exactly: bytes[place..<place + width].reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
    let trailer = bytes.count - 32
    guard trailer >= 8, let count = number(at: trailer + 8, 8), let table = number(at: trailer + 24, 8),
      count <= bytes.count, table <= bytes.count
    else { return false }
    let width = Int(bytes[trailer + 6])
    return (0..<count).allSatisfy { index in
      guard let place = number(at: table + index * width, width), place < bytes.count else { return false }
      return [0x00, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x80, 0xA0, 0xD0].contains(bytes[place] & 0xF0)
    }
  }

  // MARK: - Objects

  /// The maximum nesting depth. Records and shares have about 10.
  private static let largestDepth = 64

  /// The key of a person's name, whose private class nothing here decodes.
  private static let nameKey = "NameComponents"

  /// Checks the values under the keys of an object, and returns whether decoding them causes no error.
  private mutating func checkValues(of object: [String: Any]) throws -> Bool {
    var isSound = true
    for (key, value) in object where key != "$class" && key != Self.nameKey {
      for element in value as? [Any] ?? [value] {
        guard let finding = try finding(of: element) else { continue }
        isSound = isSound && finding.isSound
      }
    }
    return isSound
  }

  /// Returns what a reference refers to; nil for a value that is no reference.
  private mutating func finding(of reference: Any?) throws -> Finding? {
    guard let index = NSKeyedUnarchiver.index(of: reference) else { return nil }
    if let known = findings[index] {
      guard let known else { throw Damage() }
      return known
    }
    guard objects.indices.contains(index), depth < Self.largestDepth else { throw Damage() }
    findings.updateValue(nil, forKey: index)
    depth += 1
    let finding = try self.finding(at: index)
    depth -= 1
    findings.updateValue(finding, forKey: index)
    return finding
  }

  private mutating func finding(at index: Int) throws -> Finding {
    let object = objects[index]
    if let text = object as? String { return Finding(kind: text == "$null" ? .null : .text, isSound: true) }
    guard let object = object as? [String: Any], let reference = NSKeyedUnarchiver.index(of: object["$class"]) else {
      return Finding(kind: .value, isSound: true)
    }
    guard objects.indices.contains(reference), let description = objects[reference] as? [String: Any],
      let name = description["$classname"] as? String
    else { throw Damage() }
    let names = [name] + (description["$classhints"] as? [String] ?? [])
    let types = names.compactMap { archivedClass(named: $0) }
    guard types.allSatisfy(NSCoder.isArchivable) else { throw Damage() }
    let areValuesSound = try checkValues(of: object)
    guard let type = types.first else { return Finding(kind: .object(nil), isSound: false) }
    return Finding(kind: .object(type), isSound: try checkContents(of: object, type) && areValuesSound)
  }

  /// The class that the unarchiver would make.
  private func archivedClass(named name: String) -> AnyClass? {
    unarchiver.class(forClassName: name) ?? NSKeyedUnarchiver.class(forClassName: name) ?? NSClassFromString(name)
  }

  // MARK: - Contents

  /// Checks what the initializer of a class relies on, and returns whether it succeeds.
  private mutating func checkContents(of object: [String: Any], _ type: AnyClass) throws -> Bool {
    switch type {
    case is NSDictionary.Type:
      let (keys, values) = (object["NS.keys"] as? [Any] ?? [], object["NS.objects"] as? [Any] ?? [])
      guard keys.count == values.count, try areElements(keys), try areElements(values) else { throw Damage() }
      return true
    case is NSArray.Type, is NSSet.Type: return object["NS.objects"] is [Any]?
    case is NSString.Type: return object["NS.string"] is String
    case is NSData.Type: return object["NS.data"] is Data
    case is NSNumber.Type: return object["NS.number"] is NSNumber
    case is NSUUID.Type:
      guard (object["NS.uuidbytes"] as? Data)?.count == 16 else { throw Damage() }
      return true
    case is NSURL.Type:
      guard try isText(object["NS.relative"]), try isNull(object["NS.base"]) || isObject(NSURL.self, object["NS.base"])
      else { throw Damage() }
      return true
    case is CKRecordZoneID.Type: return try isText(object["ZoneName"])
    case is CKRecordID.Type: return try isText(object["RecordName"]) && isObject(CKRecordZoneID.self, object["ZoneID"])
    case is CKReference.Type: return try isObject(CKRecordID.self, object["recordID"])
    default: return true
    }
  }

  /// Whether all elements of a dictionary are decoded.
  private mutating func areElements(_ references: [Any]) throws -> Bool {
    for reference in references {
      guard let finding = try finding(of: reference), finding.isSound else { return false }
      if case .null = finding.kind { return false }
    }
    return true
  }

  private mutating func isText(_ reference: Any?) throws -> Bool {
    switch try finding(of: reference)?.kind {
    case .text?: true
    case .object(let type?)?: type is NSString.Type
    default: false
    }
  }

  private mutating func isNull(_ reference: Any?) throws -> Bool {
    if case .null? = try finding(of: reference)?.kind { true } else { false }
  }

  private mutating func isObject<Object: AnyObject>(_ type: Object.Type, _ reference: Any?) throws -> Bool {
    guard case .object(let found?)? = try finding(of: reference)?.kind else { return false }
    return found is Object.Type
  }
}
