public import Foundation

/// One value of a record's field, as the emulator stores it.
public enum EmulatorValue: Sendable, Hashable {
  /// Text.
  case string(String)
  /// A whole number; booleans are 0 and 1.
  case int64(Int64)
  /// A floating point number.
  case double(Double)
  /// Bytes, base64 on the wire.
  case bytes(Data)
  /// Milliseconds since 1970, UTC.
  case timestamp(Int64)
  /// A place on Earth.
  case location(EmulatorLocation)
  /// A reference to another record of the same zone.
  case reference(EmulatorReference)
  /// A file, whose bytes have been uploaded before.
  case asset(EmulatorAsset)
  /// Values of one scalar type; the type is `nil` only for an empty list that was sent without one.
  case list(EmulatorValueType?, [EmulatorValue])

  /// The type a scalar has on the wire; `nil` for a list.
  var scalarType: EmulatorValueType? {
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

  /// About how many bytes the value takes of the record size limit, which leaves files out. [D]
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

/// The wire name of a scalar field type; a list of it appends `_LIST`. [D]
public enum EmulatorValueType: String, Sendable, Hashable, CaseIterable {
  /// Text.
  case string = "STRING"
  /// A whole number.
  case int64 = "INT64"
  /// A floating point number.
  case double = "DOUBLE"
  /// Bytes.
  case bytes = "BYTES"
  /// Milliseconds since 1970.
  case timestamp = "TIMESTAMP"
  /// A place on Earth.
  case location = "LOCATION"
  /// A reference to another record.
  case reference = "REFERENCE"
  /// A file. [L3]
  case asset = "ASSETID"
}

/// A place on Earth with what else a position fix may tell; units as in CLLocation, the timestamp in milliseconds.
public struct EmulatorLocation: Sendable, Hashable {
  /// Degrees north.
  public var latitude: Double
  /// Degrees east.
  public var longitude: Double
  /// The optional wire keys (`altitude`, `speed`, …) that were sent.
  public var details: [String: Double]

  /// Makes a location.
  public init(latitude: Double, longitude: Double, details: [String: Double] = [:]) {
    self.latitude = latitude
    self.longitude = longitude
    self.details = details
  }

  /// Metres along the surface of a sphere.
  func distance(to other: EmulatorLocation) -> Double {
    let radians = Double.pi / 180
    let north = (other.latitude - latitude) * radians
    let east = (other.longitude - longitude) * radians
    let haversine =
      sin(north / 2) * sin(north / 2)
      + cos(latitude * radians) * cos(other.latitude * radians) * sin(east / 2) * sin(east / 2)
    return 2 * 6_371_000 * asin(min(1, haversine.squareRoot()))
  }
}

/// A reference to a record of the same zone, and what deleting that record does.
public struct EmulatorReference: Sendable, Hashable {
  /// What a reference means for its target. [D]
  public enum Action: String, Sendable, Hashable {
    /// Nothing; the reference may dangle.
    case none = "NONE"
    /// Deleting the target deletes the record that holds the reference.
    case deleteSelf = "DELETE_SELF"
    /// The target must exist and cannot be deleted while it is referred to.
    case validate = "VALIDATE"
  }

  /// The target's record name.
  public var recordName: String
  /// What the reference means for its target.
  public var action: Action

  /// Makes a reference.
  public init(recordName: String, action: Action = .none) {
    self.recordName = recordName
    self.action = action
  }
}
