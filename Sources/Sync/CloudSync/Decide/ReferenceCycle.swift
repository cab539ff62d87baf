import Facts

/// Operations that block each other, also through their atomic groups. Waiting would never unblock them, so one request
/// sends them together.
package struct ReferenceCycle: Hashable, Sendable {
  /// The operation that is noted to wait for itself.
  package var closer: Int64
  /// Everything that blocks it, directly or indirectly, with all members of atomic groups; of more than a request
  /// takes, some.
  package var members: [Candidate]

  /// Whether the operation still blocks itself, as far as that is known.
  var isClosed: Bool { members.count > Planner.requestLimit || members.contains { $0.id == closer } }

  /// Why no request can hold it; nil if one can.
  var obstacle: Cause.CycleObstacle? {
    if members.contains(where: { $0.zone != members[0].zone }) { return .zones }
    var room = Room(operations: Planner.requestLimit)
    return members.allSatisfy { room.take($0) } ? nil : .size
  }

  /// The other members that cannot be sent now, for which the cycle waits.
  func holders(in scope: SendScope) -> Set<Int64> {
    Set(members.lazy.filter { $0.id != closer && scope.isHeld($0) }.map(\.id))
  }

  /// Returns the request that sends it; nil if it cannot be sent now.
  func step(in scope: SendScope) -> Step? {
    guard obstacle == nil, members.allSatisfy({ !$0.needsCheck && scope.isReady($0) }) else { return nil }
    let isAtomic = members.contains { $0.group != nil }
    let saves = Set(members.lazy.filter { $0.kind == .save }.map(\.id))
    // Such saves are not part of the cycle: they are sent before it.
    guard isAtomic || !members.contains(where: { $0.mayTakeAlong(saves) }) else { return nil }
    return .send(members[0].zone, ordered(members).map(\.id), atomic: isAtomic, isCycle: true)
  }
}
