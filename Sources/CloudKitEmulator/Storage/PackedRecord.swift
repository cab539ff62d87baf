import CloudKitSchema
import Foundation
import JSONText

/// Encodes a record as bytes, much smaller than its values, for memory and file. The name and the sequence are stored
/// outside, because they are search keys.
enum PackedRecord {
  static func bytes(_ record: StoredRecord) -> [UInt8] {
    let content = record.content
    var writer = PackedWriter(capacity: content.size + 16 * content.fields.members.count + 128)
    writer.add(record.type)
    writer.add(record.tag)
    writer.add(signed: record.created.milliseconds)
    writer.add(record.created.userRecordName)
    writer.add(signed: record.modified.milliseconds)
    let isSameUser = record.created.userRecordName == record.modified.userRecordName
    let optionals = [
      isSameUser ? nil : record.modified.userRecordName, content.parent, content.shortGUID, content.share,
      record.formerShare,
      content.sharing.map { $0.row.text },
    ]
    var flags: UInt8 = 0
    for (index, text) in optionals.enumerated() where text != nil { flags |= 1 << UInt8(index) }
    writer.add(byte: flags)
    for case let text? in optionals { writer.add(text) }
    for member in content.fields {
      writer.add(member.name)
      writer.add { $0.add(member.value) }
    }
    // Allocates no spare capacity: there may be a million of these arrays.
    return Array(unsafeUninitializedCapacity: writer.bytes.count) { buffer, count in
      count = writer.bytes.count
      _ = buffer.initialize(from: writer.bytes)
    }
  }

  static func record(
    _ bytes: UnsafeRawBufferPointer,
    name: String,
    sequence: Int64
  ) throws(DamagedBytes) -> StoredRecord {
    var reader = PackedReader(bytes)
    var content = StoredRecord.Content(name: name, type: try reader.text())
    let tag = try reader.text()
    let created = StoredRecord.Stamp(milliseconds: try reader.signed(), userRecordName: try reader.text())
    var modified = StoredRecord.Stamp(
      milliseconds: try reader.signed(),
      userRecordName: created.userRecordName
    )
    let flags = try reader.byte()
    if flags & 1 != 0 { modified.userRecordName = try reader.text() }
    if flags & 2 != 0 { content.parent = try reader.text() }
    if flags & 4 != 0 { content.shortGUID = try reader.text() }
    if flags & 8 != 0 { content.share = try reader.text() }
    let formerShare = flags & 16 != 0 ? try reader.text() : nil
    if flags & 32 != 0 {
      let row = (try? JSON(json: try reader.data()))?.object
      guard let sharing = row.flatMap(ShareState.init(row:)) else { throw DamagedBytes() }
      content.sharing = sharing
    }
    var members: [RecordFields.Member] = []
    members.reserveCapacity(16)
    while !reader.isAtEnd {
      let name = try reader.text()
      var value = PackedReader(try reader.part())
      members.append(RecordFields.Member(name: name, value: try value.value()))
    }
    content.fields = RecordFields(sorted: members)
    return StoredRecord(
      content: content,
      tag: tag,
      sequence: sequence,
      created: created,
      modified: modified,
      formerShare: formerShare
    )
  }

  /// Returns a record's sort key in an index, reading as little as possible; `nil` if the record has another type.
  static func sortKey(
    _ bytes: UnsafeRawBufferPointer,
    name: String,
    in index: IndexName
  ) throws(DamagedBytes) -> SortKey? {
    var reader = PackedReader(bytes)
    guard try reader.part().elementsEqual(index.type.utf8) else { return nil }
    guard case .field(let field) = index.key else {
      return try record(bytes, name: name, sequence: 0).sortKey(index.key)
    }
    _ = try reader.part()
    _ = try reader.signed()
    _ = try reader.part()
    _ = try reader.signed()
    var flags = try reader.byte()
    while flags != 0 {
      if flags & 1 != 0 { _ = try reader.part() }
      flags >>= 1
    }
    while !reader.isAtEnd {
      let isIt = try reader.part().elementsEqual(field.utf8)
      let part = try reader.part()
      if isIt {
        var value = PackedReader(part)
        return try value.value().sortKey
      }
    }
    return .null
  }
}

extension PackedWriter {
  /// Writes a value preceded by its type.
  fileprivate mutating func add(_ value: EmulatorValue) {
    guard case .list(let type, let elements) = value else {
      add(byte: value.scalarType?.number ?? 0)
      return add(bare: value)
    }
    add(byte: PackedRecord.list | (type?.number ?? PackedRecord.untyped))
    for element in elements { add(bare: element) }
  }

  private mutating func add(bare value: EmulatorValue) {
    switch value {
    case .string(let text): add(text)
    case .int64(let number), .timestamp(let number): add(signed: number)
    case .double(let number): add(number)
    case .bytes(let data): add(data)
    case .location(let location):
      add(location.latitude)
      add(location.longitude)
      add(location.details.count)
      for (key, value) in location.details.sorted(by: { $0.key < $1.key }) {
        add(key)
        add(value)
      }
    case .reference(let reference):
      add(reference.recordName)
      add(byte: reference.action.number)
    case .asset(let asset):
      add(asset.fileChecksum)
      add(asset.size)
      add(asset.id)
    case .list: preconditionFailure("A list cannot contain lists.")
    }
  }
}

extension PackedReader {
  fileprivate mutating func value() throws(DamagedBytes) -> EmulatorValue {
    let tag = try byte()
    let number = tag & ~PackedRecord.list
    guard tag & PackedRecord.list != 0 else { return try bare(try CKSchema.ValueType(number: number)) }
    guard number != PackedRecord.untyped else { return .list(nil, []) }
    let type = try CKSchema.ValueType(number: number)
    var elements: [EmulatorValue] = []
    while !isAtEnd { elements.append(try bare(type)) }
    return .list(type, elements)
  }

  private mutating func bare(_ type: CKSchema.ValueType) throws(DamagedBytes) -> EmulatorValue {
    switch type {
    case .string: return .string(try text())
    case .int64: return .int64(try signed())
    case .double: return .double(try double())
    case .bytes: return .bytes(try data())
    case .timestamp: return .timestamp(try signed())
    case .location:
      var location = EmulatorLocation(latitude: try double(), longitude: try double())
      for _ in 0..<(try count()) {
        let key = try text()
        location.details[key] = try double()
      }
      return .location(location)
    case .reference:
      let name = try text()
      return .reference(EmulatorReference(recordName: name, action: try EmulatorReference.Action(number: try byte())))
    case .asset:
      let checksum = try text()
      let size = try number()
      return .asset(EmulatorAsset(fileChecksum: checksum, size: size, id: try text()))
    }
  }

  /// Reads a count of elements that take at least one byte each, at most 65,535.
  private mutating func count() throws(DamagedBytes) -> Int {
    let count = try number()
    guard (0...Int(UInt16.max)).contains(count) else { throw DamagedBytes() }
    return count
  }
}

extension PackedRecord {
  /// The flag for a list in the type byte. The lower bits are the element type.
  fileprivate static let list: UInt8 = 0x80
  /// The element type of an empty list that was sent without a type.
  fileprivate static let untyped: UInt8 = 0x7F
}

// Data files contain these numbers, so they must never change.
extension CKSchema.ValueType {
  fileprivate var number: UInt8 {
    switch self {
    case .string: 1
    case .int64: 2
    case .double: 3
    case .bytes: 4
    case .timestamp: 5
    case .location: 6
    case .reference: 7
    case .asset: 8
    }
  }

  fileprivate init(number: UInt8) throws(DamagedBytes) {
    switch number {
    case 1: self = .string
    case 2: self = .int64
    case 3: self = .double
    case 4: self = .bytes
    case 5: self = .timestamp
    case 6: self = .location
    case 7: self = .reference
    case 8: self = .asset
    default: throw DamagedBytes()
    }
  }
}

extension EmulatorReference.Action {
  fileprivate var number: UInt8 {
    switch self {
    case .none: 0
    case .deleteSelf: 1
    case .validate: 2
    }
  }

  fileprivate init(number: UInt8) throws(DamagedBytes) {
    switch number {
    case 0: self = .none
    case 1: self = .deleteSelf
    case 2: self = .validate
    default: throw DamagedBytes()
    }
  }
}
