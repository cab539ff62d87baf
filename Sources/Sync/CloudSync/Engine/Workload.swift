/// The work that could be done now. Each part is read only if the parts before it offer nothing to do.
package protocol Workload {
  /// Everything outside a change that can hold it back.
  var scope: SendScope { get }
  /// The number of requests so far.
  var turn: Int64 { get }
  /// Zones to create on the server before their changes can be sent.
  var missingZones: [ZoneKey] { get throws }
  /// Operations that must be verified first, oldest first.
  var toVerify: [Candidate] { get throws }
  /// Operations whose assets must be uploaded first, oldest first.
  var uploads: [Candidate] { get throws }
  /// Zones with changes to be sent, the one served longest ago first.
  var zones: [ZoneKey] { get throws }
  /// The operations that are noted to wait for themselves: each closes a reference cycle.
  var closers: [Int64] { get throws }
  /// Whether notes of blocked operations must be renewed.
  var hasOldNotes: Bool { get throws }
  /// The end of the earliest back-off.
  var nextBackOffEnd: Int64? { get throws }
  /// Operations of a zone, the oldest unblocked ones first; nil if their notes must be renewed before.
  ///
  /// - Parameter toNote: gets the blocked operations that need a note before others can be found.
  func candidates(of zone: ZoneKey, toNote: inout [Int64]) throws -> [Candidate]?
  /// The reference cycle that an operation closes.
  func cycle(closedBy closer: Int64) throws -> ReferenceCycle
  /// The number of queued operations in each atomic group of these.
  func groupSizes(of candidates: [Candidate]) throws -> [String: Int]
}
