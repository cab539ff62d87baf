import CloudKit
import Facts

extension FailureCause {
  /// The rejection of a change. Where its schema lacks a record type or field, production says so only in words
  /// (reference 7.3).
  ///
  /// - Parameter group: the number of changes that are only sent together, where none was named.
  init(rejection error: WebServicesError, group: Int? = nil) {
    let (code, reason) = (error.code.name, error.reason)
    if let match = reason.firstMatch(of: /Cannot create new type (\S+) in production schema/) {
      self = .schemaLacks(type: String(match.1), field: nil, code: code)
    } else if let match = reason.firstMatch(
      of: /Cannot create or modify field '([^']+)' in record '([^']+)' in production schema/
    ) {
      self = .schemaLacks(type: String(match.2), field: String(match.1), code: code)
    } else {
      self = .rejected(code: code, message: reason, group: group)
    }
  }
}
