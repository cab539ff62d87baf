/// What roles may do with records of one type in the public database. (1.7) [FW]
typealias SchemaGrants = [String: Set<SchemaPermission>]

/// What may be granted; a record is deleted by those who may write it.
enum SchemaPermission: String, Sendable, CaseIterable {
  case read = "READ"
  case create = "CREATE"
  case write = "WRITE"

  /// The refusal, as it was seen for CREATE. [L3]
  var refusal: ServerError { ServerError(.accessDenied, "\(rawValue) operation not permitted") }
}

/// The roles that every container has. [FW]
enum SchemaRole {
  /// Everybody, with or without an account.
  static let world = "_world"
  /// Everybody who is signed in, server-to-server keys included. [L3]
  static let authenticated = "_icloud"
  /// Whoever made the record in question.
  static let creator = "_creator"

  static let predefined: Set<String> = [world, authenticated, creator]

  /// What Apple's page on the schema language asks of types for public databases. [FW]
  static let defaultGrants: SchemaGrants = [creator: [.write], authenticated: [.create], world: [.read]]
}

/// A caller of the public database, with the roles that do not depend on a record.
struct SchemaGuard {
  let roles: Set<String>
  let user: String?

  /// - Parameters:
  ///   - user: The caller's record name; `nil` for the world.
  ///   - custom: The roles that somebody has been given; server-to-server keys have none. [E]
  init(user: String?, custom: Set<String>) {
    self.user = user
    roles = user == nil ? [SchemaRole.world] : custom.union([SchemaRole.world, SchemaRole.authenticated])
  }

  /// Whether anything of a type may be had whoever made it. CREATE is asked before there is a record, so that a grant
  /// to `_creator` counts for nothing here; keys were seen to need both. [L3]
  func may(_ permission: SchemaPermission, _ type: Schema.RecordType?) -> Bool {
    (type?.grants ?? SchemaRole.defaultGrants).contains { $0.value.contains(permission) && roles.contains($0.key) }
  }

  func may(_ permission: SchemaPermission, _ type: Schema.RecordType?, madeBy creator: String) -> Bool {
    may(permission, type) || user == creator && mayAsCreator(permission, type)
  }

  func mayRead(_ record: StoredRecord, _ type: Schema.RecordType?) -> Bool {
    may(.read, type, madeBy: record.created.userRecordName)
  }

  /// Whether there can be a record of a type that the caller may write.
  func mayWriteSome(_ type: Schema.RecordType?) -> Bool {
    may(.create, type) || may(.write, type) || mayAsCreator(.write, type)
  }

  /// Whether the caller's own records may be had where those of others may not.
  func mayAsCreator(_ permission: SchemaPermission, _ type: Schema.RecordType?) -> Bool {
    user != nil && (type?.grants ?? SchemaRole.defaultGrants)[SchemaRole.creator]?.contains(permission) == true
  }
}

extension EmulatorCore {
  /// The grants as they hold for a call; `nil` outside the public database, where ownership and shares decide. [D]
  func guards(_ call: Call) -> SchemaGuard? {
    call.route.scope == .public ? guards(of: call.caller.recordName) : nil
  }

  func guards(of user: String?) -> SchemaGuard {
    let roles = configuration.directory.isEmpty ? [] : user.flatMap { self.user(recordName: $0) }?.roles ?? []
    return SchemaGuard(user: user, custom: roles)
  }

  /// Whether the caller may read a record.
  func mayRead(_ record: StoredRecord, _ call: Call) -> Bool {
    guards(call)?.mayRead(record, schemas[call.route.schema]?[record.type]) ?? true
  }
}
