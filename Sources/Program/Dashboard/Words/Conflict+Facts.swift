package import CloudSync
package import Facts
import TerminalUI

extension DroppedChange {
  /// The dropped fields, and those of the server that were overwritten.
  package var parts: String {
    let dropped = kind == .delete ? "(deletion)" : changes.names.sorted().joined(separator: ", ")
    guard let overwritten else { return dropsChange ? dropped : Words.resolvedForThisSide }
    let names = overwritten.values?.names.sorted().joined(separator: ", ") ?? "(deletion)"
    return [dropped, "server's \(names)"].filter { !$0.isEmpty }.joined(separator: "; ")
  }
}

extension Conflict {
  /// When each side edited or deleted the record, this machine's first.
  ///
  /// - Parameter user: returns the name of a user as it is shown.
  package func edits(_ time: (Int64) -> String, user: (String) -> String = { $0 }) -> [Fact] {
    // When the server deleted the record is not known.
    func newer(_ side: ConflictSide) -> String { times.later == side && !isDeletedOnServer ? ", newer" : "" }
    let local = "\(kind == .delete ? "deleted " : "")\(time(editedAt))\(newer(.local))"
    let server = "\(serverModifiedAt.map(time) ?? "unknown")\(serverModifiedBy.map { " by \(user($0))" } ?? "")"
    return [
      Fact("Local", local, .local), Fact("Server", isDeletedOnServer ? "deleted" : server + newer(.server), .server),
    ]
  }
}

extension Conflict.Field {
  /// The three values on a line.
  package func line(_ format: Format) -> String {
    let values = [base, local, server].map { $0?.text(format) ?? "(none)" }
    return "  \(name): base \(values[0]) | local \(values[1]) | server \(values[2])"
  }
}
