public import CloudKit
internal import Foundation

/// Properties of type `CLLocation`, or lists of them, are stored as native locations.
///
/// This encoding is used only for locations inside nested values, which are stored as JSON.
extension CLLocation: Codable {
  private enum CodingKeys: String, CodingKey {
    case latitude, longitude, altitude, horizontalAccuracy, verticalAccuracy, course, speed, timestamp
  }

  /// Encodes all values.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(coordinate.latitude, forKey: .latitude)
    try container.encode(coordinate.longitude, forKey: .longitude)
    try container.encode(altitude, forKey: .altitude)
    try container.encode(horizontalAccuracy, forKey: .horizontalAccuracy)
    try container.encode(verticalAccuracy, forKey: .verticalAccuracy)
    try container.encode(course, forKey: .course)
    try container.encode(speed, forKey: .speed)
    try container.encode(timestamp, forKey: .timestamp)
  }

  /// Decodes a location. Only the coordinate is required; other missing values are unknown.
  public convenience init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    func value(_ key: CodingKeys, default value: Double) throws -> Double {
      try container.decodeIfPresent(Double.self, forKey: key) ?? value
    }
    self.init(
      coordinate: CLLocationCoordinate2D(
        latitude: try container.decode(Double.self, forKey: .latitude),
        longitude: try container.decode(Double.self, forKey: .longitude)
      ),
      altitude: try value(.altitude, default: 0),
      horizontalAccuracy: try value(.horizontalAccuracy, default: 0),
      verticalAccuracy: try value(.verticalAccuracy, default: -1),
      course: try value(.course, default: -1),
      speed: try value(.speed, default: -1),
      timestamp: try container.decodeIfPresent(Date.self, forKey: .timestamp) ?? Date(timeIntervalSince1970: 0)
    )
  }
}
