internal import Foundation

/// The body of a push in the server's encoding (reference 5.10). Any part may be missing, because large payloads are
/// pruned.
struct NotificationPayload: Decodable, Hashable, Sendable {
  var aps: Alert?
  var ck: Cloud

  /// The content of the alert.
  struct Alert: Decodable, Hashable, Sendable {
    var body = Text()
    var badge: Int?
    var soundName: String?
    var category: String?

    /// The alert's texts. In JSON the alert is an object with these keys, or a plain string.
    struct Text: Decodable, Hashable, Sendable {
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

    private enum Key: String, CodingKey { case alert, badge, sound, category }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Key.self)
      if let text = try? container.decodeIfPresent(String.self, forKey: .alert) {
        body.body = text
      } else {
        body = try container.decodeIfPresent(Text.self, forKey: .alert) ?? Text()
      }
      badge = try? container.decodeIfPresent(Int.self, forKey: .badge)
      soundName = try? container.decodeIfPresent(String.self, forKey: .sound)
      category = try? container.decodeIfPresent(String.self, forKey: .category)
    }
  }

  /// The CloudKit part of the payload.
  struct Cloud: Decodable, Hashable, Sendable {
    var container: String?
    var notificationID: String?
    var userRecordName: String?
    var isPruned = false
    var query: Subject?
    var zone: Subject?
    var database: Subject?

    private enum Key: String, CodingKey { case cid, nid, ckuserid, p, qry, fet, met }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Key.self)
      self.container = try container.decodeIfPresent(String.self, forKey: .cid)
      notificationID = try container.decodeIfPresent(String.self, forKey: .nid)
      userRecordName = try? container.decodeIfPresent(String.self, forKey: .ckuserid)
      isPruned = container.contains(.p)
      query = try container.decodeIfPresent(Subject.self, forKey: .qry)
      zone = try container.decodeIfPresent(Subject.self, forKey: .fet)
      database = try container.decodeIfPresent(Subject.self, forKey: .met)
    }
  }

  /// The subscription that fired and the item that changed.
  struct Subject: Decodable, Hashable, Sendable {
    /// The IDs of the subscription, the record, the zone and the zone's owner.
    var sid: String?
    var rid: String?
    var zid: String?
    var zoid: String?
    /// 1 created, 2 updated, 3 deleted.
    var fo: Int?
    /// 1 public, 2 private, 3 shared.
    var dbs: Int?
    /// The fields that the subscription asked to include in the push.
    var af: [String: JSONValue]?

    var scope: CKDatabase.Scope { dbs.flatMap(CKDatabase.Scope.init(rawValue:)) ?? .private }

    var zoneID: CKRecordZoneID? {
      zid.map { name in
        CKRecordZoneID(wire: WireZoneID(zoneName: name, ownerRecordName: zoid), in: scope)
      }
    }
  }
}
