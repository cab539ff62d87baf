/// Plans reference cycles: operations that block each other and nothing else. Waiting would never unblock them. Those
/// that fit into one request are sent together. If they are too many, or in several zones or atomic groups, references
/// are deferred until the cycle is broken. A delete is never in one request with a save that removes a reference to its
/// record: an update is sent in its place.
struct Cycles {
  /// A unit that is sent as a whole: an operation, or an atomic group.
  private struct Unit {
    var members: [Candidate]
    /// The units that block it.
    var next: Set<Int> = []
    var isHeld = false
    var isGroup: Bool { members[0].group != nil }
  }

  private var units: [Unit] = []

  /// - Parameter candidates: operations that are sendable by their own state, each with all its blockers.
  init(_ candidates: [Candidate], _ groupSizes: [String: Int]) {
    var unitOfGroup: [String: Int] = [:]
    var unitOf: [Int64: Int] = [:]
    for candidate in candidates where unitOf[candidate.id] == nil {
      if let group = candidate.group, let unit = unitOfGroup[group] {
        units[unit].members.append(candidate)
        unitOf[candidate.id] = unit
      } else {
        if let group = candidate.group { unitOfGroup[group] = units.count }
        unitOf[candidate.id] = units.count
        units.append(Unit(members: [candidate]))
      }
    }
    for (group, unit) in unitOfGroup where units[unit].members.count != groupSizes[group] { units[unit].isHeld = true }
    var dependants: [Int: [Int]] = [:]
    for unit in units.indices {
      for blocker in units[unit].members.lazy.flatMap(\.blockers) {
        if let other = unitOf[blocker] {
          if other != unit, units[unit].next.insert(other).inserted { dependants[other, default: []].append(unit) }
        } else {
          units[unit].isHeld = true
        }
      }
    }
    // A unit that is blocked by one on hold is on hold too.
    var open = units.indices.filter { units[$0].isHeld }
    while let held = open.popLast() {
      for unit in dependants[held] ?? [] where !units[unit].isHeld {
        units[unit].isHeld = true
        open.append(unit)
      }
    }
  }

  /// Returns the request that resolves most of the first cycle.
  func step(_ room: Room) -> Step? {
    let cycles = unblocked().map { $0.sorted() }.sorted { $0[0] < $1[0] }
    let single = cycles.lazy.flatMap { $0 }.first { !units[$0].isGroup }.map { units[$0].members[0] }
    guard let single else {
      guard let group = cycles.first?.first.map({ units[$0].members }) else { return nil }
      return step(ordered(group), atomic: true)
    }
    var room = room
    var members: [Candidate] = []
    for cycle in cycles {
      let part = cycle.lazy.map { units[$0] }.filter { !$0.isGroup && $0.members[0].zone == single.zone }.map {
        $0.members[0]
      }
      // A change in bisection may cause its request to be rejected, so it is sent alone.
      if let bisected = part.first(where: \.isBisected) {
        if members.isEmpty { return step([bisected], atomic: false) }
        continue
      }
      var rest = room
      let taken = ordered(Array(part)).filter { rest.take($0) }
      // Split a cycle only if it does not fit into a request of its own.
      guard members.isEmpty || taken.count == part.count else { continue }
      room = rest
      members += taken
    }
    return step(members, atomic: false)
  }

  private func step(_ members: [Candidate], atomic: Bool) -> Step {
    let taken = Set(members.map(\.id))
    let saves = Set(members.lazy.filter { $0.kind == .save }.map(\.id))
    var deferring: [Int64: Set<Int64>] = [:]
    for member in members {
      var later = member.blockers.subtracting(taken)
      if !atomic, member.mayTakeAlong(saves) { later.formUnion(member.blockers.intersection(saves)) }
      if !later.isEmpty { deferring[member.id] = later }
    }
    return .send(members[0].zone, members.map(\.id), atomic: atomic, deferring: deferring)
  }

  /// The strongly connected components that nothing outside blocks, by Tarjan's algorithm without recursion.
  private func unblocked() -> [[Int]] {
    var order: [Int: Int] = [:]
    var low: [Int: Int] = [:]
    var component: [Int: Int] = [:]
    var stack: [Int] = []
    var found: [[Int]] = []
    for root in units.indices where !units[root].isHeld && order[root] == nil {
      var path: [(unit: Int, next: [Int])] = []
      func enter(_ unit: Int) {
        order[unit] = order.count
        low[unit] = order[unit]
        stack.append(unit)
        path.append((unit, units[unit].next.sorted()))
      }
      enter(root)
      while let (unit, _) = path.last {
        if let next = path[path.count - 1].next.popLast() {
          if order[next] == nil {
            enter(next)
          } else if component[next] == nil {
            low[unit] = min(low[unit] ?? 0, order[next] ?? 0)
          }
          continue
        }
        path.removeLast()
        if let parent = path.last?.unit { low[parent] = min(low[parent] ?? 0, low[unit] ?? 0) }
        guard low[unit] == order[unit] else { continue }
        var part: [Int] = []
        while let member = stack.popLast() {
          component[member] = found.count
          part.append(member)
          if member == unit { break }
        }
        found.append(part)
      }
    }
    return found.enumerated().filter { index, part in
      part.allSatisfy { units[$0].next.allSatisfy { component[$0] == index } }
    }.map(\.element)
  }
}
