// The objects inside fields and records.

package import JSONText

extension WireZoneID: WireObject {
  package init() { self.init(zoneName: "") }

  /// Without a visit for each key, because it is in every record.
  package init(json: inout JSONReader) throws(JSONError) {
    let start = json.offset
    var name: String?
    self.init()
    try json.enterObject()
    while let key = try json.nextKey() {
      switch key {
      case "zoneName": try json.read(into: &name)
      case "ownerRecordName": try json.read(into: &ownerRecordName)
      default: try json.skip()
      }
    }
    guard let name else { throw json.failure("a zone without a name", at: start) }
    zoneName = name
  }

  package mutating func members(_ json: inout some WireMembers) throws(JSONError) {
    try json("ownerRecordName", &ownerRecordName)
    try json("zoneName", &zoneName)
  }
}

extension WireReference: WireObject {
  package init() { self.init(recordName: "", action: nil) }

  package mutating func members(_ json: inout some WireMembers) throws(JSONError) {
    try json("action", &action)
    try json("recordName", &recordName)
    try json("zoneID", &zoneID)
  }
}

extension WireLocation: WireObject {
  package init() { self.init(latitude: 0, longitude: 0) }

  package mutating func members(_ json: inout some WireMembers) throws(JSONError) {
    var time = timestamp.map(WireTime.init)
    try json("altitude", &altitude)
    try json("course", &course)
    try json("horizontalAccuracy", &horizontalAccuracy)
    try json("latitude", &latitude)
    try json("longitude", &longitude)
    try json("speed", &speed)
    try json("timestamp", &time)
    try json("verticalAccuracy", &verticalAccuracy)
    timestamp = time?.milliseconds
  }
}

extension WireAsset: WireObject {
  package init() { self.init(fileChecksum: nil) }

  package mutating func members(_ json: inout some WireMembers) throws(JSONError) {
    try json("downloadURL", &downloadURL)
    try json("fileChecksum", &fileChecksum)
    try json("receipt", &receipt)
    try json("referenceChecksum", &referenceChecksum)
    try json("size", &size)
    try json("wrappingKey", &wrappingKey)
  }
}

extension WireRecordName: WireObject {
  package init() { self.init(recordName: "") }

  package mutating func members(_ json: inout some WireMembers) throws(JSONError) {
    try json("recordName", &recordName)
  }
}

extension WireStamp: JSONReadable {
  package init(json: inout JSONReader) throws(JSONError) {
    let start = json.offset
    var timestamp: Int64?
    self.init(timestamp: 0)
    try json.enterObject()
    while let key = try json.nextKey() {
      switch key {
      case "timestamp": timestamp = try json.null() ? nil : json.roundedInt64()
      case "userRecordName": try json.read(into: &userRecordName)
      case "deviceID": try json.read(into: &deviceID)
      default: try json.skip()
      }
    }
    guard let timestamp else { throw json.failure("a record stamp without a timestamp", at: start) }
    self.timestamp = timestamp
  }
}

/// A time in whole milliseconds since 1970. Servers may send a fraction of one.
private struct WireTime: JSONReadable, JSONWritable {
  let milliseconds: Int64

  init(milliseconds: Int64) { self.milliseconds = milliseconds }

  init(json: inout JSONReader) throws(JSONError) { milliseconds = try json.roundedInt64() }

  func write(to json: inout JSONWriter) { json.int64(milliseconds) }
}
