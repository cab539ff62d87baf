import JSONText

/// The body of a push in the server's encoding (reference 5.10). Any part may be missing, because large payloads are
/// pruned.
struct NotificationPayload: WireReply, Hashable, Sendable {
  var aps: Alert?
  var ck = Cloud()

  mutating func members(_ json: inout ReadingMembers) throws(JSONError) {
    try json("aps", &aps)
    try json("ck", &ck)
  }

  /// The content of the alert.
  struct Alert: WireReply, Hashable, Sendable {
    var body = Text()
    var badge: Int?
    var soundName: String?
    var category: String?

    mutating func members(_ json: inout ReadingMembers) throws(JSONError) {
      var (badge, sound, category): (JSON?, JSON?, JSON?)
      try json("alert", &body, default: Text())
      try json("badge", &badge)
      try json("category", &category)
      try json("sound", &sound)
      if case .int(let number) = badge { self.badge = Int(number) }
      if let sound { soundName = sound.string }
      if let category { self.category = category.string }
    }

    /// The alert's texts. In JSON the alert is an object with these keys, or a plain string.
    struct Text: WireReply, Hashable, Sendable {
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

      static func optional(json: inout JSONReader) throws(JSONError) -> Text? {
        guard json.peek() == UInt8(ascii: "\"") else { return try json.null() ? nil : Text(json: &json) }
        return Text(body: try json.string())
      }

      mutating func members(_ json: inout ReadingMembers) throws(JSONError) {
        try json("action-loc-key", &actionLocalizationKey)
        try json("body", &body)
        try json("launch-image", &launchImage)
        try json("loc-args", &localizationArgs)
        try json("loc-key", &localizationKey)
        try json("subtitle", &subtitle)
        try json("subtitle-loc-args", &subtitleLocalizationArgs)
        try json("subtitle-loc-key", &subtitleLocalizationKey)
        try json("title", &title)
        try json("title-loc-args", &titleLocalizationArgs)
        try json("title-loc-key", &titleLocalizationKey)
      }
    }
  }

  /// The CloudKit part of the payload.
  struct Cloud: WireReply, Hashable, Sendable {
    var container: String?
    var notificationID: String?
    var userRecordName: String?
    var isPruned = false
    var query: Subject?
    var zone: Subject?
    var database: Subject?

    mutating func members(_ json: inout ReadingMembers) throws(JSONError) {
      var (user, pruned): (JSON?, JSON?)
      try json("cid", &container)
      try json("ckuserid", &user)
      try json("fet", &zone)
      try json("met", &database)
      try json("nid", &notificationID)
      try json("p", &pruned)
      try json("qry", &query)
      if let user { userRecordName = user.string }
      if pruned != nil { isPruned = true }
    }
  }

  /// The subscription that fired and the item that changed.
  struct Subject: WireReply, Hashable, Sendable {
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

    mutating func members(_ json: inout ReadingMembers) throws(JSONError) {
      try json("af", &af)
      try json("dbs", &dbs)
      try json("fo", &fo)
      try json("rid", &rid)
      try json("sid", &sid)
      try json("zid", &zid)
      try json("zoid", &zoid)
    }

    var scope: CKDatabase.Scope { dbs.flatMap { CKDatabase.Scope(rawValue: Int($0)) } ?? .private }

    var zoneID: CKRecordZoneID? {
      zid.map { name in
        CKRecordZoneID(wire: WireZoneID(zoneName: name, ownerRecordName: zoid), in: scope)
      }
    }
  }
}
