extension CKSchema {
  /// A use that a server with a schema refuses.
  public struct Problem: Sendable, Hashable, CustomStringConvertible {
    /// The kinds of problems.
    public enum Kind: String, Sendable, CaseIterable {
      /// The name of a record type or field is too long or has other characters than letters, digits and `_`.
      case invalidName
      /// The schema lacks the record type.
      case missingType
      /// The schema lacks the field.
      case missingField
      /// The field has another type in the schema.
      case otherType
      /// The schema lacks an index of the field that a query needs.
      case missingIndex
    }

    /// The kind of the problem.
    public var kind: Kind
    /// The name of the record type.
    public var type: String
    /// The name of the field; `nil` for a problem of the record type.
    public var field: String?
    /// The words of the schema for the type or the indexes that it declares, e.g. `LIST<STRING>`; `nil` if there are
    /// none.
    public var declared: String?
    /// The words of the schema for the type or the indexes that the use needs; `nil` for a name.
    public var needed: String?
    /// The type of the values that the field has in the schema otherwise; `nil` for other kinds.
    public var fieldType: FieldType?
    /// The number of uses. A query counts as none.
    public var count = Usage.Count()

    /// The problem in one sentence.
    public var description: String {
      let field = field.map { "field \($0) of \(type)" } ?? "record type \(type)"
      let needed = needed ?? ""
      let text =
        switch kind {
        case .invalidName:
          "The name of \(field) is not valid: a letter, then letters, digits and _, at most 255 characters"
        case .missingType, .missingField:
          "The schema lacks \(field)" + (needed.isEmpty ? "" : " (\(needed))")
        case .otherType: "The schema has \(field) as \(declared ?? ""), not as \(needed)"
        case .missingIndex: "A query needs \(field) to be \(needed)"
        }
      return text + (count.text.map { ": \($0)" } ?? "")
    }
  }

  /// Returns what a server with this schema refuses of the uses, sorted by type and field.
  public func problems(of usage: Usage) -> [Problem] {
    var complete = self
    complete.completePredefinedTypes()
    return usage.types.sorted { $0.key < $1.key }.flatMap { name, use -> [Problem] in
      if let type = complete.types[name] { return type.problems(of: use, name: name) }
      let kind: Problem.Kind = Self.isName(name) ? .missingType : .invalidName
      return [Problem(kind: kind, type: name, count: use.count)]
    }
  }

  /// Returns the lines that the schema lacks for the uses, in the schema language; `nil` if it lacks none.
  ///
  /// Fields of a type that the schema has are listed in a declaration of that type, which has to be merged into the
  /// existing one.
  public func additions(for usage: Usage) -> String? {
    var added = CKSchema()
    for (name, type) in usage.recordTypes {
      guard let known = types[name] ?? Self.predefined.types[name] else {
        added.types[name] = type
        continue
      }
      var lacking = RecordType()
      for (field, declaration) in type.fields {
        var declared = known.fields[field] ?? declaration
        declared.indexes.formUnion(declaration.indexes)
        if known.fields[field] != declared { lacking.fields[field] = declared }
      }
      for (field, indexes) in type.systemIndexes {
        let all = indexes.union(known.systemIndexes[field] ?? [])
        if known.systemIndexes[field] != all { lacking.systemIndexes[field] = all }
      }
      if lacking != RecordType() { added.types[name] = lacking }
    }
    guard !added.types.isEmpty else { return nil }
    let lines = added.lines.dropFirst().map { line in
      guard case .opening(let type) = line.statement, types[type] != nil else { return line }
      var line = line
      line.trailing = ["// add or change these fields"]
      return line
    }
    return String(SchemaWriter.text(lines).drop { $0 == "\n" })
  }
}

extension CKSchema.RecordType {
  fileprivate func problems(of use: CKSchema.Usage.TypeUsage, name type: String) -> [CKSchema.Problem] {
    var problems: [CKSchema.Problem] = []
    for (name, seen) in use.fields.sorted(by: { $0.key < $1.key }) {
      let words = seen.keys.map { SchemaWriter.word(CKSchema.Field(type: $0)) }.sorted().joined(separator: ", ")
      guard let field = self[name] else {
        let kind: CKSchema.Problem.Kind = CKSchema.isField(name, of: type) ? .missingField : .invalidName
        let count = seen.values.reduce(CKSchema.Usage.Count(), +)
        problems.append(CKSchema.Problem(kind: kind, type: type, field: name, needed: words, count: count))
        continue
      }
      for (other, count) in seen.sorted(by: { $0.key.name < $1.key.name }) where !field.accepts(other) {
        var problem = CKSchema.Problem(kind: .otherType, type: type, field: name, fieldType: other, count: count)
        (problem.declared, problem.needed) = (SchemaWriter.word(field), SchemaWriter.word(CKSchema.Field(type: other)))
        problems.append(problem)
      }
    }
    for (name, needed) in use.queries.sorted(by: { $0.key < $1.key }) {
      let declared = self[name]?.indexes ?? []
      // A missing field is a problem of its own.
      guard self[name] != nil || use.fields[name] == nil, !needed.isSubset(of: declared) else { continue }
      var problem = CKSchema.Problem(kind: .missingIndex, type: type, field: name)
      (problem.declared, problem.needed) = (
        SchemaWriter.words(declared), SchemaWriter.words(needed.subtracting(declared))
      )
      problems.append(problem)
    }
    return problems
  }
}

extension CKSchema.Field {
  /// Whether the field takes values of a type. An undecided `NUMBER` also takes whole numbers. [E]
  fileprivate func accepts(_ other: CKSchema.FieldType) -> Bool {
    other == type || number == .undecided && other == CKSchema.FieldType(.int64, isList: type.isList)
  }
}
