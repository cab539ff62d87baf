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
