import CloudSync
import Facts

/// Plain words for what the code and the JSON call by internal names.
extension OperationKind {
  /// The verb of the operation, for a narrow column beside the name of the record or zone.
  var verb: String {
    switch self {
    case .save: "save"
    case .zoneSave: "create"
    case .delete, .zoneDelete: "delete"
    }
  }

  /// The operation as a noun, to be followed by the name of the record or zone.
  var noun: String {
    switch self {
    case .save: "change to"
    case .zoneSave: "creation of"
    case .delete, .zoneDelete: "deletion of"
    }
  }

  /// The operation with its object: "save Task t1 in zone notes", "create zone notes".
  func phrase(_ type: String?, _ key: RecordKey) -> String {
    if isOfZone { return "\(verb) zone \(key.zone)" }
    return "\([verb, type, key.name].compactMap(\.self).joined(separator: " ")) in zone \(key.zone)"
  }
}

extension Ending {
  /// The way in which an operation ended, in words.
  var words: String {
    switch self {
    case .acknowledged: "done"
    case .superseded: "replaced by a later change"
    case .merged: "merged"
    case .discarded: "discarded"
    }
  }
}

extension AccountState.Status {
  /// The state of the account in words.
  var words: String {
    switch self {
    case .available: "signed in"
    case .noAccount: "signed out"
    case .restricted: "access denied"
    case .couldNotDetermine: "unknown"
    case .temporarilyUnavailable: "not available now"
    }
  }
}

extension Words {
  /// A kind of credential in words, by its name in the JSON; nil: there is none.
  static func credential(_ name: String?) -> String {
    switch name {
    case "serverToServer"?: "server-to-server key"
    case "webAuth"?: "web auth token"
    case "apiToken"?: "API token"
    case let name: name ?? "none"
    }
  }
}
