package import CloudKit

/// The database that a type of models declares.
package struct DeclaredDatabase: Sendable {
  private let model: String
  private let scope: CKDatabase.Scope

  package init(of type: any CKRecordModel.Type) { (model, scope) = ("\(type)", type.databaseScope) }

  /// Refuses a call for another database. The shared database has the private models of other users.
  ///
  /// - Throws: `CKModelError` with the cause `otherDatabase`.
  package func check(_ called: CKDatabase.Scope) throws(CKModelError) {
    guard called != scope, called != .shared || scope != .private else { return }
    let reason = "The call is for the \(called) database, and the type's databaseScope is \(scope)."
    throw CKModelError(model, .otherDatabase, reason)
  }
}
