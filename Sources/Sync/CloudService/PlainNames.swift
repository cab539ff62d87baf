package import CloudSync
import Facts

/// Plain words for what the code and the JSON call by internal names, on screens and in the output of commands.
extension OperationKind {
  /// The verb of the operation, for a narrow column beside the name of the record or zone.
  package var verb: String { String(Words.operation(rawValue).prefix { $0 != " " }) }

  /// The operation as a noun, to be followed by the name of the record or zone.
  package var noun: String {
    switch self {
    case .save: "change to"
    case .zoneSave: "creation of"
    case .delete, .zoneDelete: "deletion of"
    }
  }

  /// The operation with its object: "save Task t1 in zone notes", "create zone notes".
  package func phrase(_ type: String?, _ key: RecordKey) -> String {
    if isOfZone { return "\(Words.operation(rawValue)) \(key.zoneKey.title)" }
    return "\([verb, type, key.name].compactMap(\.self).joined(separator: " ")) in zone \(key.zoneKey.title)"
  }
}

extension Ending {
  /// The way in which an operation ended, in words.
  package var words: String {
    switch self {
    case .acknowledged: "done"
    case .superseded: "replaced by a later change"
    case .merged: "merged"
    case .discarded: "discarded"
    }
  }
}

extension StoreStatus.SyncingProcess {
  /// Its number, and its program if that is known: "PID 41 (cktop)".
  package var name: String { "PID \(pid)\(program.map { " (\($0))" } ?? "")" }

  /// Whether it syncs and is another process than the one with this ID.
  package func isAnother(than process: Int64) -> Bool { isLive && pid != process }

  /// The syncing process in words, and since when it syncs, stands still, or that it has ended.
  package func text(_ time: (Int64) -> String) -> String {
    let name = "\(name) on \(host)"
    if isLive { return name + (since.map { " since \(time($0))" } ?? "") }
    return name + (stalledSince.map { ", has not moved since \(time($0))" } ?? ", ended")
  }
}
