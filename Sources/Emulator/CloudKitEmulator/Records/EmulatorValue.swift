public import CloudKitSchema
public import Foundation

/// A field value as the emulator stores it.
public enum EmulatorValue: Sendable, Hashable {
  /// A text.
  case string(String)
  /// A whole number. Booleans are 0 and 1.
  case int64(Int64)
  /// A floating point number.
  case double(Double)
  /// Bytes; base64 on the wire.
  case bytes(Data)
  /// A time in milliseconds since 1970, UTC.
  case timestamp(Int64)
  /// A location on Earth.
  case location(EmulatorLocation)
  /// A reference to another record in the same zone.
  case reference(EmulatorReference)
  /// A file whose bytes have been uploaded.
  case asset(EmulatorAsset)
  /// A list of values of one scalar type. An empty list that was saved has no type, as on the wire.
  case list(CKSchema.ValueType?, [EmulatorValue])

  /// The wire type of a scalar; `nil` for a list.
  var scalarType: CKSchema.ValueType? {
    switch self {
    case .string: .string
    case .int64: .int64
    case .double: .double
    case .bytes: .bytes
    case .timestamp: .timestamp
    case .location: .location
    case .reference: .reference
    case .asset: .asset
    case .list: nil
    }
  }

  /// Whether this is a file or a list of files.
  var isAsset: Bool {
    if case .list(let type, _) = self { type == .asset } else { scalarType == .asset }
  }

  /// The approximate number of bytes that count against the record size limit. Files do not count. [D]
  var size: Int {
    switch self {
    case .string(let text): text.utf8.count
    case .int64, .double, .timestamp: 8
    case .bytes(let data): data.count
    case .location, .asset: 64
    case .reference(let reference): reference.recordName.utf8.count + 8
    case .list(_, let elements): elements.reduce(0) { $0 + $1.size }
    }
  }
}

/// A location on Earth with optional details of the position fix. Units are those of CLLocation; the timestamp is in
/// milliseconds.
public struct EmulatorLocation: Sendable, Hashable {
  /// Degrees north.
  public var latitude: Double
  /// Degrees east.
  public var longitude: Double
  /// The optional details that were sent (`altitude`, `speed`, …), by wire key.
  public var details: [String: Double]

  /// Creates a location.
  public init(latitude: Double, longitude: Double, details: [String: Double] = [:]) {
    self.latitude = latitude
    self.longitude = longitude
    self.details = details
  }

  /// Returns the distance in metres along the surface of a sphere.
  func distance(to other: EmulatorLocation) -> Double {
    CKSchema.distance(from: (latitude, longitude), to: (other.latitude, other.longitude))
  }
}

/// A reference to a record in the same zone, with the action that applies when that record is deleted.
public struct EmulatorReference: Sendable, Hashable {
  /// The effect of a reference on its target. [D]
  public enum Action: String, Sendable, Hashable {
    /// No effect. The reference may dangle.
    case none = "NONE"
    /// Deleting the target also deletes the record that holds the reference.
    case deleteSelf = "DELETE_SELF"
    /// The target must exist and cannot be deleted while the reference exists.
    case validate = "VALIDATE"
  }

  /// The record name of the target.
  public var recordName: String
  /// The effect of the reference on its target.
  public var action: Action

  /// Creates a reference.
  public init(recordName: String, action: Action = .none) {
    self.recordName = recordName
    self.action = action
  }
}
