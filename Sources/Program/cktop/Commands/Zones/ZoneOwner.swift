import ArgumentParser
import CloudKit
import CloudSync
import Facts

/// The owner of a zone, beside the zone's name.
struct ZoneOwner: ParsableArguments {
  @Option(
    help: ArgumentHelp("The zone's owner, if several users share zones of this name.", valueName: "user"),
    completion: .zoneOwners
  )
  var owner: String?
}

extension SyncStore {
  /// The zone with this name. In the shared database, where zones have owners, the known zone with this name.
  func zoneKey(named name: String, of whose: ZoneOwner) throws -> ZoneKey {
    let owner = whose.owner
    guard scope.database == .shared else {
      guard owner == nil else {
        throw CommandFailure.usage("only zones of the shared database have owners; omit --owner")
      }
      return ZoneKey(zone: name)
    }
    let known = try view { try $0.zones() }.map(\.key).filter { $0.zone == name && (owner == nil || $0.owner == owner) }
    guard let key = known.first else {
      let whose = owner.map { " of \($0.excerpt)" } ?? ""
      throw CommandFailure.usage("there is no shared zone '\(name.excerpt)'\(whose); run cktop zones list to see them")
    }
    guard known.count == 1 else { throw CommandFailure.severalOwners(of: known) }
    return key
  }

  /// The zone of `--zone` and `--owner`; nil without them.
  func zoneKey(_ name: String?, of whose: ZoneOwner) throws -> ZoneKey? {
    if let name { return try zoneKey(named: name, of: whose) }
    guard whose.owner == nil else { throw CommandFailure.usage("--owner is the owner of a zone; name it with --zone") }
    return nil
  }

  /// The zone of records that name none.
  func standardZone() throws(CommandFailure) -> ZoneKey {
    guard scope.hasDefaultZone else {
      throw .usage("the shared database has no standard zone; choose one with --zone, cktop zones list shows them")
    }
    return scope.zoneForChangesWithoutOne
  }
}

extension CommandFailure {
  /// The failure for a name that zones of several users have.
  static func severalOwners(of zones: [ZoneKey]) -> CommandFailure {
    let owners = zones.map(\.owner).joined(separator: ", ")
    return .usage("several users share zone '\(zones[0].zone)'; choose one with --owner: \(owners)")
  }
}
