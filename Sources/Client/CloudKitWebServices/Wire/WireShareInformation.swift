package import JSONText

/// The information about a share, fetched by its short GUID (reference 5.4).
package struct WireShareInformation: Hashable, Sendable {
  package var shortGUID: String?
  package var containerIdentifier: String?
  /// `PRIVATE` for the owner, `SHARED` for everybody else.
  package var databaseScope: String?
  package var zoneID: WireZoneID?
  package var rootRecordName: String?
  package var rootRecord: WireRecord?
  /// The share; nil if the caller may be one of several invited people and must verify which.
  package var share: WireRecord?
  package var ownerIdentity: WireUserIdentity?
  package var participantType: String?
  package var participantPermission: String?
  package var participantStatus: String?
  private var needsVerification = false
  /// The error in place of the share.
  private var failure: WebServicesError?

  package init() {}
}

extension WireShareInformation: WireReply {
  package mutating func members(_ json: inout ReadingMembers) throws(JSONError) {
    var (guid, matches): (JSON?, [JSON]?)
    var (answered, root): (WireResult<WireRecord>?, WireResult<WireRecord>?)
    try json("containerIdentifier", &containerIdentifier)
    try json("databaseScope", &databaseScope)
    try json("ownerIdentity", &ownerIdentity)
    try json("participantPermission", &participantPermission)
    try json("participantStatus", &participantStatus)
    try json("participantType", &participantType)
    try json("potentialMatchList", &matches)
    try json("rootRecord", &root)
    try json("rootRecordName", &rootRecordName)
    try json("share", &answered)
    try json("shortGUID", &guid)
    try json("zoneID", &zoneID)
    shortGUID = guid?.shortGUID ?? shortGUID
    if let matches { needsVerification = !matches.isEmpty }
    // The root may be an error, which is treated like a missing root.
    if case .item(let record)? = root { rootRecord = record }
    switch answered {
    case .item(let record)?: share = record
    case .failure(_, let error)?: failure = error
    case .deleted?, nil: break
    }
  }
}

extension WireShareInformation: WireItem {
  package static var list: StaticString { "results" }
  package static func id(of error: WireItemError) -> String? { error.shortGUID }
  package var id: String? { shortGUID ?? share?.shortGUID }

  package consuming func result() -> WireResult<Self> {
    if needsVerification { share = nil }
    guard share == nil, !needsVerification else { return .item(self) }
    let missing = WebServicesError(.unexpectedServerResponse, "the reply has no share", effect: .unknown)
    return .failure(shortGUID, failure ?? missing)
  }
}

extension JSON {
  /// A short GUID, which is an object as in the request, or a string in errors; nil if it is empty.
  var shortGUID: String? { (string ?? object?["value"]?.string).flatMap { $0.isEmpty ? nil : $0 } }
}
