internal import Foundation

// Decodes people from archives of Apple's framework, under Apple's keys. Nothing writes these keys.
//
// Names are skipped: Apple archives them in a private class of its Foundation.

extension WireParticipant {
  init?(inAppleArchive coder: NSCoder) {
    guard coder.containsValue(forKey: "ParticipantID") else { return nil }
    self.init()
    participantId = coder.string(forKey: "ParticipantID")
    type = CKShare.ParticipantRole(rawValue: coder.decodeInteger(forKey: "Type"))?.wire
    permission = CKShare.ParticipantPermission(rawValue: coder.decodeInteger(forKey: "Permission"))?.wire
    let status = CKShare.ParticipantAcceptanceStatus(rawValue: coder.decodeInteger(forKey: "AcceptanceStatus"))
    acceptanceStatus = status?.wire
    userIdentity = coder.object(CKUserIdentity.self, forKey: "UserIdentity")?.wire
  }
}

extension WireUserIdentity {
  init?(inAppleArchive coder: NSCoder) {
    guard coder.containsValue(forKey: "HasICloudAccount") else { return nil }
    self.init()
    userRecordName = coder.object(CKRecordID.self, forKey: "UserRecordID")?.recordName
    lookupInfo = coder.object(CKUserIdentityLookupInfo.self, forKey: "LookupInfo")?.wire
  }
}

extension WireLookupInfo {
  init?(inAppleArchive coder: NSCoder) {
    guard coder.containsValue(forKey: "EmailAddress") else { return nil }
    self.init()
    emailAddress = coder.string(forKey: "EmailAddress")
    phoneNumber = coder.string(forKey: "PhoneNumber")
    userRecordName = coder.object(CKRecordID.self, forKey: "RecordID")?.recordName
  }
}
