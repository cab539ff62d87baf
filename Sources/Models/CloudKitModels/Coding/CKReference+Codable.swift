public import CloudKit

/// Properties of type `CKRecord.Reference`, or lists of them, are stored as native references.
///
/// This encoding is used only for references inside nested values, which are stored as JSON. The server does not follow
/// those.
extension CKReference: Codable {
  private enum CodingKeys: String, CodingKey {
    case recordName, zoneName, ownerName, deletesWithTarget
  }

  /// Encodes the target and the action.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(recordID.recordName, forKey: .recordName)
    try container.encode(recordID.zoneID.zoneName, forKey: .zoneName)
    try container.encode(recordID.zoneID.ownerName, forKey: .ownerName)
    try container.encode(action == .deleteSelf, forKey: .deletesWithTarget)
  }

  /// Decodes the target and the action.
  public convenience init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let zoneID = CKRecordZoneID(
      zoneName: try container.decode(String.self, forKey: .zoneName),
      ownerName: try container.decode(String.self, forKey: .ownerName)
    )
    let recordName = try container.decode(String.self, forKey: .recordName)
    let deletesWithTarget = try container.decode(Bool.self, forKey: .deletesWithTarget)
    self.init(
      recordID: CKRecordID(recordName: recordName, zoneID: zoneID),
      action: deletesWithTarget ? .deleteSelf : .none
    )
  }
}
