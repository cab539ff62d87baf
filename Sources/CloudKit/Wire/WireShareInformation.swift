/// The information about a share, fetched by its short GUID (reference 5.4).
package struct WireShareInformation: Hashable, Sendable {
  package var shortGUID: String
  package var containerIdentifier: String?
  /// `PRIVATE` for the owner, `SHARED` for everybody else.
  package var databaseScope: String?
  package var zoneID: WireZoneID?
  package var rootRecordName: String?
  package var rootRecord: WireRecord?
  package var share: WireRecord
  package var ownerIdentity: WireUserIdentity?
  package var participantType: String?
  package var participantPermission: String?
  package var participantStatus: String?
}

/// One element of `results[]`: a share, or an error.
package enum WireShareResult: Hashable, Sendable {
  case share(WireShareInformation)
  /// The caller may be one of several invited people and must verify which.
  case verificationNeeded(shortGUID: String?)
  case failure(shortGUID: String?, WebServicesError)

  /// The short GUID of the share, if the element contains it.
  package var shortGUID: String? {
    switch self {
    case .share(let information): information.shortGUID
    case .verificationNeeded(let guid), .failure(let guid, _): guid
    }
  }
}

// Elsewhere records are decoded from bytes. Share information decodes them with `Decodable`.
extension WireRecordResult: Decodable {}

extension WireShareResult: Decodable {
  private enum Key: String, CodingKey {
    case shortGUID, containerIdentifier, databaseScope, zoneID, rootRecordName, rootRecord, share, ownerIdentity
    case participantType, participantPermission, participantStatus, potentialMatchList
  }

  /// The GUID: an object as in the request, or a string in errors.
  private struct ShortGUID: Decodable {
    var value: String?

    private enum Key: String, CodingKey { case value }

    init(from decoder: any Decoder) throws {
      if let value = try? decoder.singleValueContainer().decode(String.self) {
        self.value = value
      } else {
        value = try decoder.container(keyedBy: Key.self).decodeIfPresent(String.self, forKey: .value)
      }
    }
  }

  private struct PotentialMatch: Decodable {}

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    let shortGUID = try container.decodeIfPresent(ShortGUID.self, forKey: .shortGUID)?.value
    if let failure = try WireItemError(ifPresentIn: decoder) {
      self = .failure(shortGUID: shortGUID, failure.error)
      return
    }
    if let matches = try container.decodeIfPresent([PotentialMatch].self, forKey: .potentialMatchList), !matches.isEmpty
    {
      self = .verificationNeeded(shortGUID: shortGUID)
      return
    }
    let share: WireRecord
    switch try container.decodeIfPresent(WireRecordResult.self, forKey: .share) {
    case .record(let record)?: share = record
    case .failure(_, let error)?:
      self = .failure(shortGUID: shortGUID, error)
      return
    case .deleted?, nil:
      let error = WebServicesError(.unexpectedServerResponse, "the reply has no share", effect: .unknown)
      self = .failure(shortGUID: shortGUID, error)
      return
    }
    var rootRecord: WireRecord?
    // The root may be an error, which is treated like a missing root.
    if case .record(let record)? = try container.decodeIfPresent(WireRecordResult.self, forKey: .rootRecord) {
      rootRecord = record
    }
    self = .share(
      WireShareInformation(
        shortGUID: shortGUID ?? share.shortGUID ?? "",
        containerIdentifier: try container.decodeIfPresent(String.self, forKey: .containerIdentifier),
        databaseScope: try container.decodeIfPresent(String.self, forKey: .databaseScope),
        zoneID: try container.decodeIfPresent(WireZoneID.self, forKey: .zoneID),
        rootRecordName: try container.decodeIfPresent(String.self, forKey: .rootRecordName),
        rootRecord: rootRecord,
        share: share,
        ownerIdentity: try container.decodeIfPresent(WireUserIdentity.self, forKey: .ownerIdentity),
        participantType: try container.decodeIfPresent(String.self, forKey: .participantType),
        participantPermission: try container.decodeIfPresent(String.self, forKey: .participantPermission),
        participantStatus: try container.decodeIfPresent(String.self, forKey: .participantStatus)
      )
    )
  }
}
