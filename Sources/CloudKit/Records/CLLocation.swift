public import Foundation

/// A length in metres.
public typealias CLLocationDistance = Double
/// An angle in degrees.
public typealias CLLocationDegrees = Double
/// An accuracy in metres; negative where the value that it qualifies is not known.
public typealias CLLocationAccuracy = Double
/// A speed in metres a second; negative where not known.
public typealias CLLocationSpeed = Double
/// A direction in degrees from north; negative where not known.
public typealias CLLocationDirection = Double

/// A point on the earth, in degrees.
public struct CLLocationCoordinate2D: Hashable, Sendable {
  /// Degrees north of the equator.
  public var latitude: CLLocationDegrees
  /// Degrees east of Greenwich.
  public var longitude: CLLocationDegrees

  /// The point where the equator meets the meridian of Greenwich.
  public init() { self.init(latitude: 0, longitude: 0) }

  /// Makes a point.
  public init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
    self.latitude = latitude
    self.longitude = longitude
  }
}

/// A place that a record's field can hold. Linux has no framework that declares it.
public final class CLLocation: NSObject, NSSecureCoding, NSCopying, CKRecordValue, Sendable {
  /// Where.
  public let coordinate: CLLocationCoordinate2D
  /// Metres above the sea; of no meaning where `verticalAccuracy` is negative.
  public let altitude: CLLocationDistance
  /// The radius of uncertainty, in metres.
  public let horizontalAccuracy: CLLocationAccuracy
  /// How far the altitude may be off, in metres; negative where the altitude is not known.
  public let verticalAccuracy: CLLocationAccuracy
  /// Degrees from north; negative where not known.
  public let course: CLLocationDirection
  /// Metres a second; negative where not known.
  public let speed: CLLocationSpeed
  /// When.
  public let timestamp: Date

  /// Makes a place, now, without altitude.
  public convenience init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
    self.init(
      coordinate: CLLocationCoordinate2D(latitude: latitude, longitude: longitude),
      altitude: 0,
      horizontalAccuracy: 0,
      verticalAccuracy: -1,
      timestamp: Date()
    )
  }

  /// Makes a place with an altitude.
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

  /// Makes a place with all its values.
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

  /// The distance to another place along the earth's surface, in metres, on a sphere of 6,371,009 m radius.
  public func distance(from location: CLLocation) -> CLLocationDistance {
    let (a, b) = (coordinate.radians, location.coordinate.radians)
    let (latitude, longitude) = (sin((b.latitude - a.latitude) / 2), sin((b.longitude - a.longitude) / 2))
    let haversine = latitude * latitude + cos(a.latitude) * cos(b.latitude) * longitude * longitude
    return 2 * 6_371_009 * asin(min(1, haversine.squareRoot()))
  }

  /// Reads an archived place.
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

  /// The names of Apple's archives.
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

  /// Always true.
  public static var supportsSecureCoding: Bool { true }
  /// The place itself, which never changes.
  public func copy(with zone: NSZone? = nil) -> Any { self }
  /// The coordinate.
  public override var description: String { "<CLLocation \(coordinate.latitude), \(coordinate.longitude)>" }
}

extension CLLocation {
  /// The place that an answer spells; what it leaves out is not known.
  convenience init(wire: WireLocation) {
    self.init(
      coordinate: CLLocationCoordinate2D(latitude: wire.latitude, longitude: wire.longitude),
      altitude: wire.altitude ?? 0,
      horizontalAccuracy: wire.horizontalAccuracy ?? 0,
      verticalAccuracy: wire.verticalAccuracy ?? (wire.altitude == nil ? -1 : 0),
      course: wire.course ?? -1,
      speed: wire.speed ?? -1,
      timestamp: Date(timeIntervalSince1970: Milliseconds.seconds(wire.timestamp ?? 0))
    )
  }

  /// The place as requests spell it, without what is not known.
  func wire(key: String) throws(CKError) -> WireLocation {
    var wire = WireLocation(latitude: coordinate.latitude, longitude: coordinate.longitude)
    wire.horizontalAccuracy = horizontalAccuracy >= 0 ? horizontalAccuracy : nil
    wire.verticalAccuracy = verticalAccuracy >= 0 ? verticalAccuracy : nil
    wire.altitude = verticalAccuracy >= 0 ? altitude : nil
    wire.course = course >= 0 ? course : nil
    wire.speed = speed >= 0 ? speed : nil
    wire.timestamp = Milliseconds.since1970(timestamp.timeIntervalSince1970)
    let numbers = [wire.latitude, wire.longitude, wire.horizontalAccuracy, wire.verticalAccuracy, wire.altitude]
    guard (numbers + [wire.course, wire.speed]).allSatisfy({ $0?.isFinite ?? true }) else {
      throw .invalidArguments("the place in \(key) has a number that is not finite")
    }
    return wire
  }
}

extension CLLocationCoordinate2D {
  fileprivate var radians: CLLocationCoordinate2D {
    CLLocationCoordinate2D(latitude: latitude * .pi / 180, longitude: longitude * .pi / 180)
  }
}
