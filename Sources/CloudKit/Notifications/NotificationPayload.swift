import JSONText

/// The body of a push in the server's encoding (reference 5.10). Any part may be missing, because large payloads are
/// pruned.
struct NotificationPayload: JSONReadable, Hashable, Sendable {
  var aps: Alert?
  var ck: Cloud

  init(json: inout JSONReader) throws(JSONError) {
    let start = json.offset
    var ck: Cloud?
    try json.enterObject()
    while let key = try json.nextKey() {
      switch key {
      case "aps": try json.read(into: &aps)
      case "ck": try json.read(into: &ck)
      default: try json.skip()
      }
    }
    guard let ck else { throw json.failure("a push without CloudKit's part", at: start) }
    self.ck = ck
  }

  /// The content of the alert.
  struct Alert: JSONReadable, Hashable, Sendable {
    var body = Text()
    var badge: Int?
    var soundName: String?
    var category: String?

    /// The alert's texts. In JSON the alert is an object with these keys, or a plain string.
    struct Text: Decodable, JSONReadable, Hashable, Sendable {
      var body: String?
      var localizationKey: String?
      var localizationArgs: [String]?
      var actionLocalizationKey: String?
      var launchImage: String?
      var title: String?
      var titleLocalizationKey: String?
      var titleLocalizationArgs: [String]?
      var subtitle: String?
      var subtitleLocalizationKey: String?
      var subtitleLocalizationArgs: [String]?

      private enum CodingKeys: String, CodingKey {
        case body, title, subtitle
        case localizationKey = "loc-key"
        case localizationArgs = "loc-args"
        case actionLocalizationKey = "action-loc-key"
        case launchImage = "launch-image"
        case titleLocalizationKey = "title-loc-key"
        case titleLocalizationArgs = "title-loc-args"
        case subtitleLocalizationKey = "subtitle-loc-key"
        case subtitleLocalizationArgs = "subtitle-loc-args"
      }
    }

    init(json: inout JSONReader) throws(JSONError) {
      try json.enterObject()
      while let key = try json.nextKey() {
        switch key {
        case "alert" where json.peek() == UInt8(ascii: "\""): body.body = try json.string()
        case "alert": body = try json.null() ? Text() : Text(json: &json)
        case "badge": if case .int(let number) = try JSON(json: &json) { badge = Int(number) }
        case "sound": soundName = try JSON(json: &json).string
        case "category": category = try JSON(json: &json).string
        default: try json.skip()
        }
      }
    }
  }

  /// The CloudKit part of the payload.
  struct Cloud: JSONReadable, Hashable, Sendable {
    var container: String?
    var notificationID: String?
    var userRecordName: String?
    var isPruned = false
    var query: Subject?
    var zone: Subject?
    var database: Subject?

    init(json: inout JSONReader) throws(JSONError) {
      try json.enterObject()
      while let key = try json.nextKey() {
        switch key {
        case "cid": try json.read(into: &container)
        case "nid": try json.read(into: &notificationID)
        case "ckuserid": userRecordName = try JSON(json: &json).string
        case "qry": try json.read(into: &query)
        case "fet": try json.read(into: &zone)
        case "met": try json.read(into: &database)
        default:
          if case "p" = key { isPruned = true }
          try json.skip()
        }
      }
    }
  }

  /// The subscription that fired and the item that changed.
  struct Subject: JSONReadable, Hashable, Sendable {
    /// The IDs of the subscription, the record, the zone and the zone's owner.
    var sid: String?
    var rid: String?
    var zid: String?
    var zoid: String?
    /// 1 created, 2 updated, 3 deleted.
    var fo: Int64?
    /// 1 public, 2 private, 3 shared.
    var dbs: Int64?
    /// The fields that the subscription asked to include in the push.
    var af: [String: JSON]?

    init(json: inout JSONReader) throws(JSONError) {
      try json.enterObject()
      while let key = try json.nextKey() {
        switch key {
        case "sid": try json.read(into: &sid)
        case "rid": try json.read(into: &rid)
        case "zid": try json.read(into: &zid)
        case "zoid": try json.read(into: &zoid)
        case "fo": try json.read(into: &fo)
        case "dbs": try json.read(into: &dbs)
        case "af": try json.read(into: &af)
        default: try json.skip()
        }
      }
    }

    var scope: CKDatabase.Scope { dbs.flatMap { CKDatabase.Scope(rawValue: Int($0)) } ?? .private }

    var zoneID: CKRecordZoneID? {
      zid.map { name in
        CKRecordZoneID(wire: WireZoneID(zoneName: name, ownerRecordName: zoid), in: scope)
      }
    }
  }
}
