public import CloudKit

/// A property of type `CKRecord.Reference`, or a list of them, is a native reference in the record.
///
/// Only a reference within a nested value, which is kept as JSON, is spelled out; the server does not follow that one.
extension CKReference: Codable {
  private enum CodingKeys: String, CodingKey {
    case recordName, zoneName, ownerName, deletesWithTarget
  }

  /// Writes the target and the action.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(recordID.recordName, forKey: .recordName)
    try container.encode(recordID.zoneID.zoneName, forKey: .zoneName)
    try container.encode(recordID.zoneID.ownerName, forKey: .ownerName)
    try container.encode(action == .deleteSelf, forKey: .deletesWithTarget)
  }

  /// Reads the target and the action.
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
