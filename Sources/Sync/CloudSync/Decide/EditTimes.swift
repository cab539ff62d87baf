package import CloudKit
import Foundation

/// The times of two edits, by the clocks of both sides, and the choice that `newest` makes between them: the later
/// edit, or at equal times the one that every other device keeps, too.
package struct EditTimes: Hashable, Sendable {
  package var local: Int64
  /// Nil if the server gives none; then the local edit is the later one.
  package var server: Int64?

  package init(local: Int64, server: Int64?) { (self.local, self.server) = (local, server) }

  /// The side that edited last; nil at equal times.
  package var later: ConflictSide? {
    guard let server, local <= server else { return .local }
    return local == server ? nil : .server
  }

  /// Chooses between two values of a field; at equal times, the larger bytes.
  package func newest(_ mine: FieldValue?, _ theirs: FieldValue?) -> ConflictSide {
    if let later { return later }
    let (mine, theirs) = (mine?.orderingBytes ?? Data(), theirs?.orderingBytes ?? Data())
    return theirs.lexicographicallyPrecedes(mine) ? .local : .server
  }

  /// Chooses between two versions of a whole record; at equal times, by the first field that differs.
  package func newest(_ mine: [String: FieldValue], _ theirs: [String: FieldValue]) -> ConflictSide {
    let name = Set(mine.keys).union(theirs.keys).sorted().first { !mine[$0].isSame(as: theirs[$0]) }
    return newest(name.flatMap { mine[$0] }, name.flatMap { theirs[$0] })
  }

  /// Chooses between a local deletion and the server's edit; at equal times, the deletion.
  package var newestOfLocalDeletion: ConflictSide { later ?? .local }
}
