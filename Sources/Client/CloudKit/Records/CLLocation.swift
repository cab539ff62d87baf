internal import CloudKitSchema
public import Foundation

/// A length in metres.
public typealias CLLocationDistance = Double
/// An angle in degrees.
public typealias CLLocationDegrees = Double
/// An accuracy in metres; negative if the value it qualifies is unknown.
public typealias CLLocationAccuracy = Double
/// A speed in metres per second; negative if unknown.
public typealias CLLocationSpeed = Double
/// A direction in degrees from north; negative if unknown.
public typealias CLLocationDirection = Double

/// A point on the earth, in degrees.
public struct CLLocationCoordinate2D: Hashable, Sendable {
  /// Degrees north of the equator.
  public var latitude: CLLocationDegrees
  /// Degrees east of Greenwich.
  public var longitude: CLLocationDegrees

  /// Makes the point 0°, 0°.
  public init() { self.init(latitude: 0, longitude: 0) }

  /// Makes a point.
  public init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
    self.latitude = latitude
    self.longitude = longitude
  }
}

/// A geographic location that a record's field can hold. Linux has no framework that declares this type.
public final class CLLocation: NSObject, CKArchivable, CKImmutable, __CKRecordObjCValue, Sendable {
  /// The coordinate.
  public let coordinate: CLLocationCoordinate2D
  /// The altitude in metres above sea level; meaningless if `verticalAccuracy` is negative.
  public let altitude: CLLocationDistance
  /// The radius of uncertainty, in metres.
  public let horizontalAccuracy: CLLocationAccuracy
  /// The accuracy of the altitude, in metres; negative if the altitude is unknown.
  public let verticalAccuracy: CLLocationAccuracy
  /// The direction of travel in degrees from north; negative if unknown.
  public let course: CLLocationDirection
  /// The speed in metres per second; negative if unknown.
  public let speed: CLLocationSpeed
  /// The time of the location.
  public let timestamp: Date

  /// Makes a location with the current time and without an altitude.
  public convenience init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
    self.init(
      coordinate: CLLocationCoordinate2D(latitude: latitude, longitude: longitude),
      altitude: 0,
      horizontalAccuracy: 0,
      verticalAccuracy: -1,
      timestamp: Date()
    )
  }

  /// Makes a location with an altitude.
  public convenience init(
    coordinate: CLLocationCoordinate2D,
    altitude: CLLocationDistance,
    horizontalAccuracy: CLLocationAccuracy,
    verticalAccuracy: CLLocationAccuracy,
    timestamp: Date
  ) {
    self.init(
      coordinate: coordinate,
      altitude: altitude,
      horizontalAccuracy: horizontalAccuracy,
      verticalAccuracy: verticalAccuracy,
      course: -1,
      speed: -1,
      timestamp: timestamp
    )
  }

  /// Makes a location from all its values.
  public init(
    coordinate: CLLocationCoordinate2D,
    altitude: CLLocationDistance,
    horizontalAccuracy: CLLocationAccuracy,
    verticalAccuracy: CLLocationAccuracy,
    course: CLLocationDirection,
    speed: CLLocationSpeed,
    timestamp: Date
  ) {
    self.coordinate = coordinate
    self.altitude = altitude
    self.horizontalAccuracy = horizontalAccuracy
    self.verticalAccuracy = verticalAccuracy
    self.course = course
    self.speed = speed
    self.timestamp = timestamp
  }

  /// Returns the distance to another location along the earth's surface, in metres, on a sphere with a radius of
  /// 6,371,009 m.
  public func distance(from location: CLLocation) -> CLLocationDistance {
    CKSchema.distance(from: coordinate.degrees, to: location.coordinate.degrees)
  }

  /// Reads an archived location.
  public convenience init?(coder: NSCoder) {
    func value(_ key: String) -> Double { coder.decodeDouble(forKey: ArchiveKey.prefix + key) }
    self.init(
      coordinate: CLLocationCoordinate2D(
        latitude: value(ArchiveKey.latitude),
        longitude: value(ArchiveKey.longitude)
      ),
      altitude: value(ArchiveKey.altitude),
      horizontalAccuracy: value(ArchiveKey.horizontalAccuracy),
      verticalAccuracy: value(ArchiveKey.verticalAccuracy),
      course: value(ArchiveKey.course),
      speed: value(ArchiveKey.speed),
      timestamp: Date(timeIntervalSinceReferenceDate: value(ArchiveKey.timestamp))
    )
  }

  /// Archives all values.
  public func encode(with coder: NSCoder) {
    func encode(_ value: Double, _ key: String) { coder.encode(value, forKey: ArchiveKey.prefix + key) }
    encode(coordinate.latitude, ArchiveKey.latitude)
    encode(coordinate.longitude, ArchiveKey.longitude)
    encode(altitude, ArchiveKey.altitude)
    encode(horizontalAccuracy, ArchiveKey.horizontalAccuracy)
    encode(verticalAccuracy, ArchiveKey.verticalAccuracy)
    encode(course, ArchiveKey.course)
    encode(speed, ArchiveKey.speed)
    encode(timestamp.timeIntervalSinceReferenceDate, ArchiveKey.timestamp)
  }

  /// The keys of Apple's archives.
  private enum ArchiveKey {
    static let prefix = "kCLLocationCodingKey"
    static let latitude = "CoordinateLatitude"
    static let longitude = "CoordinateLongitude"
    static let altitude = "Altitude"
    static let horizontalAccuracy = "HorizontalAccuracy"
    static let verticalAccuracy = "VerticalAccuracy"
    static let course = "Course"
    static let speed = "Speed"
    static let timestamp = "Timestamp"
  }

  /// The coordinate.
  public override var description: String { "<CLLocation \(coordinate.latitude), \(coordinate.longitude)>" }
}

extension CLLocation {
  /// Makes a location from its wire encoding. Omitted values are unknown.
  convenience init(wire: WireLocation) {
    self.init(
      coordinate: CLLocationCoordinate2D(latitude: wire.latitude, longitude: wire.longitude),
      altitude: wire.altitude ?? 0,
      horizontalAccuracy: wire.horizontalAccuracy ?? 0,
      verticalAccuracy: wire.verticalAccuracy ?? (wire.altitude == nil ? -1 : 0),
      course: wire.course ?? -1,
      speed: wire.speed ?? -1,
      timestamp: Milliseconds.date(wire.timestamp ?? 0)
    )
  }

  /// Returns the wire encoding, without unknown values.
  package func wire(key: String) throws(CKError) -> WireLocation {
    var wire = WireLocation(latitude: coordinate.latitude, longitude: coordinate.longitude)
    wire.horizontalAccuracy = horizontalAccuracy >= 0 ? horizontalAccuracy : nil
    wire.verticalAccuracy = verticalAccuracy >= 0 ? verticalAccuracy : nil
    wire.altitude = verticalAccuracy >= 0 ? altitude : nil
    wire.course = course >= 0 ? course : nil
    wire.speed = speed >= 0 ? speed : nil
    wire.timestamp = Milliseconds.since1970(reference: timestamp.timeIntervalSinceReferenceDate)
    let numbers = [wire.latitude, wire.longitude, wire.horizontalAccuracy, wire.verticalAccuracy, wire.altitude]
    guard (numbers + [wire.course, wire.speed]).allSatisfy({ $0?.isFinite ?? true }) else {
      throw .invalidArguments("the location in \(key) has a number that is not finite")
    }
    return wire
  }
}

extension CLLocationCoordinate2D {
  fileprivate var degrees: (latitude: Double, longitude: Double) { (latitude, longitude) }
}
