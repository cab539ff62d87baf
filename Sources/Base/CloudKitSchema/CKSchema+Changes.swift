extension CKSchema {
  /// A difference between two schemas.
  public struct Change: Sendable, Hashable, CustomStringConvertible {
    /// The kinds of differences.
    public enum Kind: String, Sendable, CaseIterable {
      /// A role that only the new schema has.
      case roleAdded
      /// A role that only the old schema has.
      case roleRemoved
      /// A record type that only the new schema has.
      case typeAdded
      /// A record type that only the old schema has.
      case typeRemoved
      /// A field that only the new schema has.
      case fieldAdded
      /// A field that only the old schema has.
      case fieldRemoved
      /// A field with another type.
      case fieldTypeChanged
      /// A field with other indexes.
      case indexesChanged
      /// A record type with other permissions for a role.
      case grantsChanged
    }

    /// The kind of the difference.
    public var kind: Kind
    /// The name of the record type; `nil` for a role that was added or removed.
    public var type: String?
    /// The name of the field.
    public var field: String?
    /// The name of the role.
    public var role: String?
    /// The words of the old declaration in the schema language, e.g. `STRING QUERYABLE`; `nil` if there are none.
    public var from: String?
    /// The words of the new declaration in the schema language; `nil` if there are none.
    public var to: String?
    /// Whether production refuses the change.
    ///
    /// Production keeps all deployed record types and fields, and the types of fields. Only a `NUMBER` may become
    /// `INT64` or `DOUBLE`, once. [FW]
    public var isRefused = false

    /// The change in one sentence.
    public var description: String {
      let (from, to) = (from ?? "none", to ?? "none")
      let field = field.map { "\($0) of \(type ?? "")" } ?? ""
      let text =
        switch kind {
        case .roleAdded: "Role \(role ?? "") is added"
        case .roleRemoved: "Role \(role ?? "") is removed"
        case .typeAdded: "Record type \(type ?? "") is added"
        case .typeRemoved: "Record type \(type ?? "") is removed"
        case .fieldAdded: "Field \(field) is added: \(to)"
        case .fieldRemoved: "Field \(field) is removed"
        case .fieldTypeChanged: "Field \(field) changes from \(from) to \(to)"
        case .indexesChanged: "The indexes of field \(field) change from \(from) to \(to)"
        case .grantsChanged: "The grants of \(type ?? "") to \(role ?? "") change from \(from) to \(to)"
        }
      return text + (isRefused ? "; production refuses this" : "")
    }
  }

  /// Returns the changes that turn this schema into another, sorted by kind of declaration and name.
  ///
  /// The predefined types and fields are part of both, whether they are declared or not.
  public func changes(to other: CKSchema) -> [Change] {
    var (old, new) = (self, other)
    old.completePredefinedTypes()
    new.completePredefinedTypes()
    var changes = old.roles.symmetricDifference(new.roles).sorted().map { role in
      Change(kind: new.roles.contains(role) ? .roleAdded : .roleRemoved, role: role)
    }
    for name in Set(old.types.keys).union(new.types.keys).sorted() {
      switch (old.types[name], new.types[name]) {
      case (let before?, let after?): changes += before.changes(to: after, name: name)
      case (nil, let after?):
        changes.append(Change(kind: .typeAdded, type: name))
        // Of a new type, only grants are listed that are more than the usual ones.
        let usual = after.grants.filter { $0.value.isSubset(of: Role.defaultGrants[$0.key] ?? []) }
        changes += RecordType(grants: usual).changes(to: after, name: name)
      default: changes.append(Change(kind: .typeRemoved, type: name, isRefused: true))
      }
    }
    return changes
  }
}

extension CKSchema.RecordType {
  fileprivate func changes(to other: Self, name: String) -> [CKSchema.Change] {
    var changes: [CKSchema.Change] = []
    let system = CKSchema.SystemField.allCases.map(\.rawValue)
    for field in Set(fields.keys).union(other.fields.keys).sorted() + system {
      let add = { (kind: CKSchema.Change.Kind, from: String?, to: String?, isRefused: Bool) in
        let change = CKSchema.Change(kind: kind, type: name, field: field, from: from, to: to, isRefused: isRefused)
        changes.append(change)
      }
      switch (self[field], other[field]) {
      case (let old?, let new?):
        let (before, after) = (SchemaWriter.word(old), SchemaWriter.word(new))
        if before != after { add(.fieldTypeChanged, before, after, !old.mayBecome(new)) }
        guard old.indexes != new.indexes else { continue }
        add(.indexesChanged, SchemaWriter.words(old.indexes), SchemaWriter.words(new.indexes), false)
      case (let old?, nil): add(.fieldRemoved, SchemaWriter.words(old), nil, true)
      case (nil, let new): add(.fieldAdded, nil, new.map(SchemaWriter.words), false)
      }
    }
    for role in Set(grants.keys).union(other.grants.keys).sorted() {
      let (old, new) = (grants[role] ?? [], other.grants[role] ?? [])
      guard old != new else { continue }
      let (from, to) = (SchemaWriter.words(old), SchemaWriter.words(new))
      changes.append(CKSchema.Change(kind: .grantsChanged, type: name, role: role, from: from, to: to))
    }
    return changes
  }
}

extension CKSchema.Field {
  /// Whether a deployed field may be redeclared like this. A type never changes, except that a plain `NUMBER` may
  /// become INT64 or DOUBLE. [FW]
  package func mayBecome(_ new: CKSchema.Field) -> Bool {
    guard number == .undecided else { return type == new.type && new.number != .undecided }
    return [.int64, .double].map { CKSchema.FieldType($0, isList: type.isList) }.contains(new.type)
  }
}
