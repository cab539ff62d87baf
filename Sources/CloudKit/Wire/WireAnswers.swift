import Foundation

/// One element of `records[]`: a record, the fact of a deletion, or a refusal.
package enum WireRecordResult: Hashable, Sendable {
  case record(WireRecord)
  case deleted(recordName: String)
  /// The name is absent where the server never assigned one; then the element's index tells.
  case failure(recordName: String?, WebServicesError)

  /// The record's name, where known.
  package var recordName: String? {
    switch self {
    case .record(let record): record.recordName
    case .deleted(let name): name
    case .failure(let name, _): name
    }
  }
}

extension WireRecordResult: Decodable {
  package init(from decoder: any Decoder) throws {
    // An element with `serverErrorCode` is an error, whatever else it has (reference 2.5).
    if let failure = try WireItemError(ifPresentIn: decoder) {
      self = .failure(recordName: failure.recordName, failure.error)
      return
    }
    let record = try WireRecord(from: decoder)
    self = record.deleted ? .deleted(recordName: record.recordName) : .record(record)
  }
}

/// A zone with its state, or why it could not be had.
package enum WireZoneResult: Hashable, Sendable {
  case zone(WireZone)
  case failure(WireZoneID?, WebServicesError)
}

extension WireZoneResult: Decodable {
  package init(from decoder: any Decoder) throws {
    if let failure = try WireItemError(ifPresentIn: decoder) {
      self = .failure(failure.zoneID, failure.error)
    } else {
      self = .zone(try WireZone(from: decoder))
    }
  }
}

/// A zone dictionary.
package struct WireZone: Hashable, Sendable, Codable {
  package var zoneID: WireZoneID
  package var syncToken: String?
  package var atomic: Bool?
  package var deleted: Bool?

  package init(zoneID: WireZoneID) { self.zoneID = zoneID }
}

/// One page of a zone's change feed.
package struct WireZoneChanges: Hashable, Sendable {
  package var zoneID: WireZoneID
  package var records: [WireRecordResult]
  package var syncToken: String?
  package var moreComing: Bool
}

/// A zone's page, or why it could not be had.
package enum WireZoneChangesResult: Hashable, Sendable, Decodable {
  case changes(WireZoneChanges)
  case failure(WireZoneID?, WebServicesError)

  private enum Key: String, CodingKey { case zoneID, records, syncToken, moreComing }

  package init(from decoder: any Decoder) throws {
    if let failure = try WireItemError(ifPresentIn: decoder) {
      self = .failure(failure.zoneID, failure.error)
      return
    }
    let container = try decoder.container(keyedBy: Key.self)
    self = .changes(
      WireZoneChanges(
        zoneID: try container.decode(WireZoneID.self, forKey: .zoneID),
        records: try container.decodeIfPresent([WireRecordResult].self, forKey: .records) ?? [],
        syncToken: try container.decodeIfPresent(String.self, forKey: .syncToken),
        // `moreComing` may be null, which means false (reference 5.7).
        moreComing: try container.decodeIfPresent(Bool.self, forKey: .moreComing) ?? false
      )
    )
  }
}

/// One page of a query, or the result of a lookup or modify.
package struct WireRecords: Hashable, Sendable, Decodable {
  package var records: [WireRecordResult]
  package var continuationMarker: String?
}

/// The zones changed since a database token.
package struct WireDatabaseChanges: Hashable, Sendable {
  package var zones: [WireZoneResult]
  package var syncToken: String?
  package var moreComing: Bool
}

extension WireDatabaseChanges: Decodable {
  private enum Key: String, CodingKey { case zones, syncToken, moreComing }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    zones = try container.decodeIfPresent([WireZoneResult].self, forKey: .zones) ?? []
    syncToken = try container.decodeIfPresent(String.self, forKey: .syncToken)
    moreComing = try container.decodeIfPresent(Bool.self, forKey: .moreComing) ?? false
  }
}

/// Who the server says we are. Two shapes are in use: flat, and wrapped in `users` (reference 0.2).
package struct WireCaller: Hashable, Sendable, Decodable {
  package var userRecordName: String

  private enum Key: String, CodingKey { case userRecordName, users }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    if let name = try container.decodeIfPresent(String.self, forKey: .userRecordName) {
      userRecordName = name
    } else {
      var users = try container.nestedUnkeyedContainer(forKey: .users)
      let user = try users.nestedContainer(keyedBy: Key.self)
      userRecordName = try user.decode(String.self, forKey: .userRecordName)
    }
  }
}

/// An error dictionary, per item or for the whole request.
struct WireItemError: Decodable {
  var recordName: String?
  var zoneID: WireZoneID?
  var error: WebServicesError

  private enum Key: String, CodingKey {
    case recordName, zoneID, serverErrorCode, reason, retryAfter, redirectURL, uuid
  }

  /// Nil where the element is no error.
  init?(ifPresentIn decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    guard try container.decodeIfPresent(String.self, forKey: .serverErrorCode) != nil else { return nil }
    try self.init(from: decoder)
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    recordName = try container.decodeIfPresent(String.self, forKey: .recordName)
    zoneID = try container.decodeIfPresent(WireZoneID.self, forKey: .zoneID)
    error = WebServicesError(
      ServerErrorCode(try container.decode(String.self, forKey: .serverErrorCode)),
      try container.decodeIfPresent(String.self, forKey: .reason) ?? "",
      retryAfter: try container.decodeIfPresent(LenientDouble.self, forKey: .retryAfter)?.value
    )
    error.redirectURL = try container.decodeIfPresent(String.self, forKey: .redirectURL)
    error.uuid = try container.decodeIfPresent(String.self, forKey: .uuid)
  }
}
