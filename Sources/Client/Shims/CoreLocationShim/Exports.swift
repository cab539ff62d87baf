// CloudKit declares the location types on Linux. This exports them to code that imports CoreLocation.
@_exported public import class CloudKit.CLLocation
@_exported public import typealias CloudKit.CLLocationAccuracy
@_exported public import struct CloudKit.CLLocationCoordinate2D
@_exported public import typealias CloudKit.CLLocationDegrees
@_exported public import typealias CloudKit.CLLocationDirection
@_exported public import typealias CloudKit.CLLocationDistance
@_exported public import typealias CloudKit.CLLocationSpeed
