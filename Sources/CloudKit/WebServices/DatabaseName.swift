/// One of a container's three databases. The raw value is its name in URLs.
package enum DatabaseName: String, Hashable, Sendable, CaseIterable, Codable {
  case `public`, `private`, shared

  /// The zone of models and queued changes without one. Only custom zones have a change feed, and only the private
  /// database can have them.
  package var zoneForChanges: CKRecordZoneID { self == .private ? CKRecordZoneID(zoneName: "cktop") : .default }
}
