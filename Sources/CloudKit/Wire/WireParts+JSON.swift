// The objects inside fields and records.

package import JSONText

extension WireZoneID: JSONReadable, JSONWritable {
  package init(json: inout JSONReader) throws(JSONError) {
    let start = json.offset
    var zoneName: String?
    var ownerRecordName: String?
    try json.enterObject()
    while let key = try json.nextKey() {
      switch key {
      case "zoneName": try json.read(into: &zoneName)
      case "ownerRecordName": try json.read(into: &ownerRecordName)
      default: try json.skip()
      }
    }
    guard let zoneName else { throw json.failure("a zone without a name", at: start) }
    self.init(zoneName: zoneName, ownerRecordName: ownerRecordName)
  }

  package func write(to json: inout JSONWriter) {
    json.beginObject()
    json.member("ownerRecordName", ownerRecordName)
    json.member("zoneName", zoneName)
    json.endObject()
  }
}

extension WireReference: JSONReadable, JSONWritable {
  package init(json: inout JSONReader) throws(JSONError) {
    let start = json.offset
    var recordName: String?
    var zoneID: WireZoneID?
    var action: String?
    try json.enterObject()
    while let key = try json.nextKey() {
      switch key {
      case "recordName": try json.read(into: &recordName)
      case "zoneID": try json.read(into: &zoneID)
      case "action": try json.read(into: &action)
      default: try json.skip()
      }
    }
    guard let recordName else { throw json.failure("a reference without a name", at: start) }
    self.init(recordName: recordName, zoneID: zoneID, action: action)
  }

  package func write(to json: inout JSONWriter) {
    json.beginObject()
    json.member("action", action)
    json.member("recordName", recordName)
    json.member("zoneID", zoneID)
    json.endObject()
  }
}

extension WireLocation: JSONReadable, JSONWritable {
  package init(json: inout JSONReader) throws(JSONError) {
    let start = json.offset
    var latitude: Double?
    var longitude: Double?
    var location = WireLocation(latitude: 0, longitude: 0)
    try json.enterObject()
    while let key = try json.nextKey() {
      switch key {
      case "latitude": try json.read(into: &latitude)
      case "longitude": try json.read(into: &longitude)
      case "horizontalAccuracy": try json.read(into: &location.horizontalAccuracy)
      case "verticalAccuracy": try json.read(into: &location.verticalAccuracy)
      case "altitude": try json.read(into: &location.altitude)
      case "speed": try json.read(into: &location.speed)
      case "course": try json.read(into: &location.course)
      case "timestamp": location.timestamp = try json.null() ? nil : json.roundedInt64()
      default: try json.skip()
      }
    }
    guard let latitude, let longitude else { throw json.failure("a location without coordinates", at: start) }
    (location.latitude, location.longitude) = (latitude, longitude)
    self = location
  }

  package func write(to json: inout JSONWriter) {
    json.beginObject()
    json.member("altitude", altitude)
    json.member("course", course)
    json.member("horizontalAccuracy", horizontalAccuracy)
    json.member("latitude", latitude)
    json.member("longitude", longitude)
    json.member("speed", speed)
    json.member("timestamp", timestamp)
    json.member("verticalAccuracy", verticalAccuracy)
    json.endObject()
  }
}

extension WireAsset: JSONReadable, JSONWritable {
  package init(json: inout JSONReader) throws(JSONError) {
    self.init()
    try json.enterObject()
    while let key = try json.nextKey() {
      switch key {
      case "fileChecksum": try json.read(into: &fileChecksum)
      case "size": try json.read(into: &size)
      case "receipt": try json.read(into: &receipt)
      case "wrappingKey": try json.read(into: &wrappingKey)
      case "referenceChecksum": try json.read(into: &referenceChecksum)
      case "downloadURL": try json.read(into: &downloadURL)
      default: try json.skip()
      }
    }
  }

  package func write(to json: inout JSONWriter) {
    json.beginObject()
    json.member("downloadURL", downloadURL)
    json.member("fileChecksum", fileChecksum)
    json.member("receipt", receipt)
    json.member("referenceChecksum", referenceChecksum)
    json.member("size", size)
    json.member("wrappingKey", wrappingKey)
    json.endObject()
  }
}

extension WireRecordName: JSONReadable, JSONWritable {
  package init(json: inout JSONReader) throws(JSONError) {
    self.init(recordName: try WireReference(json: &json).recordName)
  }

  package func write(to json: inout JSONWriter) {
    json.beginObject()
    json.member("recordName", recordName)
    json.endObject()
  }
}

extension WireStamp: JSONReadable {
  package init(json: inout JSONReader) throws(JSONError) {
    let start = json.offset
    var timestamp: Int64?
    var userRecordName: String?
    var deviceID: String?
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
    self.init(timestamp: timestamp, userRecordName: userRecordName)
    self.deviceID = deviceID
  }
}
