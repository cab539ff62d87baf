/// The zone of models and queued changes without one. Only private databases have custom zones, and only custom zones
/// have a change feed.
package enum ZoneForChanges {
  /// Returns the zone's name: a custom zone in a private database, else the default zone.
  package static func name(isPrivate: Bool) -> String { isPrivate ? "cktop" : "_defaultZone" }
}
