internal import CloudKitSchema
package import Foundation
package import JSONText

/// The value of a record field, with its Web Services type.
///
/// The wire format, the store and merging share this type. It is comparable, hashable and free of classes. `CKRecord`
/// stores the same values as `NSNumber`, `NSString` and so on, as Apple's class does. Large cases are stored behind a
/// pointer, so that a page of strings and numbers needs a seventh of the memory.
package enum FieldValue: Hashable, Sendable {
  case string(String)
  case int64(Int64)
  case double(Double)
  case bytes(Data)
  /// Whole milliseconds since 1970. CloudKit refuses fractions.
  case timestamp(Int64)
  indirect case location(WireLocation)
  indirect case reference(WireReference)
  indirect case asset(WireAsset)
  /// A list whose elements all have the element type. An empty list has an element type too.
  case list(FieldType, [FieldValue])
  /// A value that CloudKit encrypts, because the schema declares its field as encrypted.
  indirect case encrypted(FieldValue)
  /// A value of an unknown type, or one that does not match its type. It is kept unchanged, so that writing it back
  /// loses nothing.
  indirect case other(type: String, JSON)

  /// Compares strings by their bytes. Swift treats canonically equivalent strings as equal, but they are different
  /// values here.
  package static func == (left: FieldValue, right: FieldValue) -> Bool {
    switch (left, right) {
    case (.string(let left), .string(let right)): left.utf8.elementsEqual(right.utf8)
    case (.int64(let left), .int64(let right)), (.timestamp(let left), .timestamp(let right)): left == right
    case (.double(let left), .double(let right)): left == right
    case (.bytes(let left), .bytes(let right)): left == right
    case (.location(let left), .location(let right)): left == right
    case (.reference(let left), .reference(let right)): left == right
    case (.asset(let left), .asset(let right)): left == right
    case (.list(let type, let left), .list(let otherType, let right)): type == otherType && left == right
    case (.encrypted(let left), .encrypted(let right)): left == right
    case (.other(let type, let left), .other(let otherType, let right)): type == otherType && left == right
    default: false
    }
  }

  /// The type of a scalar; nil for other values.
  package var scalarType: FieldType? {
    switch self {
    case .string: .string
    case .int64: .int64
    case .double: .double
    case .bytes: .bytes
    case .timestamp: .timestamp
    case .location: .location
    case .reference: .reference
    case .asset: .asset
    case .list, .encrypted: nil
    case .other(let type, _): FieldType(rawValue: type)
    }
  }

  /// The type tag in the wire format, such as `STRING` or `REFERENCE_LIST`.
  package var wireType: String {
    switch self {
    case .list(let element, _): WireTypeTag.list(element).description
    case .encrypted(let value): CKSchema.FieldType.encryptedPrefix + value.wireType
    case .other(let type, _): type
    default: scalarType?.rawValue ?? ""
    }
  }

  /// Whether the value is a list without elements.
  package var isEmptyList: Bool {
    switch self {
    case .list(_, let elements): elements.isEmpty
    case .encrypted(let value): value.isEmptyList
    default: false
    }
  }

  /// Whether CloudKit encrypts the value.
  package var isEncrypted: Bool {
    if case .encrypted = self { return true }
    return false
  }

  /// The approximate bytes of the value on the wire; exact to a few bytes for text and numbers.
  package var byteCount: Int {
    switch self {
    case .string(let text): text.utf8.count
    case .int64, .double, .timestamp: 12
    case .bytes(let data): (data.count * 4 + 2) / 3
    case .location: 80
    case .reference(let reference): reference.recordName.utf8.count + 40
    case .asset: 300
    case .list(_, let elements): elements.reduce(2) { $0 + $1.byteCount + 3 }
    case .encrypted(let value): value.byteCount
    case .other(_, let json): (try? json.json().count) ?? 64
    }
  }

  /// The references in this value: the value itself, or the elements of its list.
  package var references: [WireReference] {
    switch self {
    case .reference(let reference): [reference]
    case .list(.reference, let elements): elements.flatMap(\.references)
    default: []
    }
  }
}

/// A scalar field type. The raw value is its wire name.
package enum FieldType: String, Hashable, Sendable, CaseIterable, Codable {
  case string = "STRING"
  case int64 = "INT64"
  case double = "DOUBLE"
  case bytes = "BYTES"
  case timestamp = "TIMESTAMP"
  case location = "LOCATION"
  case reference = "REFERENCE"
  case asset = "ASSETID"
  /// The element type of an empty list that the server has no type for (`UNKNOWN_LIST`).
  case unknown = "UNKNOWN"
}

/// A location in its wire encoding, in degrees, metres and metres per second. It is `Codable` for archived predicates.
package struct WireLocation: Hashable, Sendable, Codable {
  package var latitude: Double
  package var longitude: Double
  package var horizontalAccuracy: Double?
  package var verticalAccuracy: Double?
  package var altitude: Double?
  package var speed: Double?
  package var course: Double?
  /// Whole milliseconds since 1970.
  package var timestamp: Int64?

  package init(latitude: Double, longitude: Double) {
    self.latitude = latitude
    self.longitude = longitude
  }
}

/// A reference in its wire encoding.
package struct WireReference: Hashable, Sendable {
  package var recordName: String
  /// The zone; nil for the zone of the referring record.
  package var zoneID: WireZoneID?
  /// `NONE`, `DELETE_SELF` or `VALIDATE`; absent in filters. It is a string because Apple's enum has no `VALIDATE`.
  package var action: String?

  package init(recordName: String, zoneID: WireZoneID? = nil, action: String? = "NONE") {
    self.recordName = recordName
    self.zoneID = zoneID
    self.action = action
  }
}

/// An asset descriptor in its wire encoding.
package struct WireAsset: Hashable, Sendable {
  package var fileChecksum: String?
  package var size: Int64?
  package var receipt: String?
  package var wrappingKey: String?
  package var referenceChecksum: String?
  package var downloadURL: String?

  package init(fileChecksum: String? = nil, size: Int64? = nil, receipt: String? = nil, downloadURL: String? = nil) {
    self.fileChecksum = fileChecksum
    self.size = size
    self.receipt = receipt
    self.downloadURL = downloadURL
  }
}

/// The name of a zone and, for zones of other users, its owner.
package struct WireZoneID: Hashable, Sendable {
  package var zoneName: String
  /// The owner; nil for the current user.
  package var ownerRecordName: String?

  package static let defaultZoneName = "_defaultZone"
  package static let defaultZone = WireZoneID(zoneName: defaultZoneName)

  package init(zoneName: String, ownerRecordName: String? = nil) {
    self.zoneName = zoneName
    self.ownerRecordName = ownerRecordName
  }
}
