internal import Foundation

extension CKSchema {
  /// Returns the distance in metres between two values of type LOCATION, in degrees, along the surface of a sphere with
  /// a radius of 6,371,009 m.
  package static func distance(
    from start: (latitude: Double, longitude: Double),
    to end: (latitude: Double, longitude: Double)
  ) -> Double {
    let radians = Double.pi / 180
    let north = sin((end.latitude - start.latitude) * radians / 2)
    let east = sin((end.longitude - start.longitude) * radians / 2)
    let haversine = north * north + cos(start.latitude * radians) * cos(end.latitude * radians) * east * east
    return 2 * 6_371_009 * asin(min(1, haversine.squareRoot()))
  }
}
