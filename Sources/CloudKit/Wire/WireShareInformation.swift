package import JSONText

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

extension WireShareResult: JSONReadable {
  package init(json: inout JSONReader) throws(JSONError) {
    let start = json.offset
    var information = WireShareInformation(shortGUID: "", share: WireRecord(recordName: ""))
    var (guid, errorCode, matches): (JSON?, String?, [JSON]?)
    var (share, root): (WireRecordResult?, WireRecordResult?)
    try json.enterObject()
    while let key = try json.nextKey() {
      switch key {
      case "shortGUID": try json.read(into: &guid)
      case "serverErrorCode": try json.read(into: &errorCode)
      case "potentialMatchList": try json.read(into: &matches)
      case "share": try json.read(into: &share)
      case "rootRecord": try json.read(into: &root)
      case "containerIdentifier": try json.read(into: &information.containerIdentifier)
      case "databaseScope": try json.read(into: &information.databaseScope)
      case "zoneID": try json.read(into: &information.zoneID)
      case "rootRecordName": try json.read(into: &information.rootRecordName)
      case "ownerIdentity": try json.read(into: &information.ownerIdentity)
      case "participantType": try json.read(into: &information.participantType)
      case "participantPermission": try json.read(into: &information.participantPermission)
      case "participantStatus": try json.read(into: &information.participantStatus)
      default: try json.skip()
      }
    }
    // An object as in the request, or a string in errors.
    let shortGUID = guid?.string ?? guid?.object?["value"]?.string
    guard errorCode == nil else {
      json.offset = start
      self = .failure(shortGUID: shortGUID, try WireItemError(json: &json).error)
      return
    }
    guard matches?.isEmpty ?? true else {
      self = .verificationNeeded(shortGUID: shortGUID)
      return
    }
    switch share {
    case .record(let record)?: information.share = record
    case .failure(_, let error)?:
      self = .failure(shortGUID: shortGUID, error)
      return
    case .deleted?, nil:
      let error = WebServicesError(.unexpectedServerResponse, "the reply has no share", effect: .unknown)
      self = .failure(shortGUID: shortGUID, error)
      return
    }
    information.shortGUID = shortGUID ?? information.share.shortGUID ?? ""
    // The root may be an error, which is treated like a missing root.
    if case .record(let record)? = root { information.rootRecord = record }
    self = .share(information)
  }
}
