import CloudKitSchema

extension CKSchema.Permission {
  /// The error for a missing permission. Observed wording for CREATE. [L3]
  var refusal: ServerError { ServerError(.accessDenied, "\(rawValue) operation not permitted") }
}

/// The permissions of a caller in the public database, by the roles that do not depend on a record.
struct SchemaGuard {
  let roles: Set<String>
  let user: String?

  /// - Parameters:
  ///   - user: The caller's record name; `nil` if anonymous.
  ///   - custom: The custom roles assigned to the user. Server-to-server keys have none. [E]
  init(user: String?, custom: Set<String>) {
    self.user = user
    roles = user == nil ? [CKSchema.Role.world] : custom.union([CKSchema.Role.world, CKSchema.Role.authenticated])
  }

  /// Whether the caller has the permission regardless of who created the record. CREATE is checked before a record
  /// exists, so a grant to `_creator` does not apply. Server-to-server keys were observed to need both grants. [L3]
  func may(_ permission: CKSchema.Permission, _ type: CKSchema.RecordType?) -> Bool {
    (type?.grants ?? CKSchema.Role.defaultGrants).contains { $0.value.contains(permission) && roles.contains($0.key) }
  }

  func may(_ permission: CKSchema.Permission, _ type: CKSchema.RecordType?, madeBy creator: String) -> Bool {
    may(permission, type) || user == creator && mayAsCreator(permission, type)
  }

  func mayRead(_ record: StoredRecord, _ type: CKSchema.RecordType?) -> Bool {
    may(.read, type, madeBy: record.created.userRecordName)
  }

  /// Whether the caller may write any record of the type.
  func mayWriteSome(_ type: CKSchema.RecordType?) -> Bool {
    may(.create, type) || may(.write, type) || mayAsCreator(.write, type)
  }

  /// Whether the caller has the permission for records that they created.
  func mayAsCreator(_ permission: CKSchema.Permission, _ type: CKSchema.RecordType?) -> Bool {
    user != nil && (type?.grants ?? CKSchema.Role.defaultGrants)[CKSchema.Role.creator]?.contains(permission) == true
  }
}

extension Endpoint {
  /// Whether the caller may read the record.
  func mayRead(_ record: StoredRecord, _ schema: CKSchema?) -> Bool {
    guards?.mayRead(record, schema?[record.type]) ?? true
  }
}
