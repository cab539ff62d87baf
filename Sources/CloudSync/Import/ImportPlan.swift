package import CloudKit

/// A record that a file asks for.
package struct ImportedRecord: Hashable, Sendable {
  package let line: Int
  package let name: String
  /// Where an export has it; nil: where all go.
  package let zone: ZoneKey?
  package let fields: [String: FieldValue]
}

/// What an import will enqueue and what it refuses, decided over the whole file.
package struct ImportPlan: Hashable, Sendable {
  package private(set) var records: [ImportedRecord] = []
  /// By line; those of the file itself are among them.
  package private(set) var refusals: [ImportRefusal]
  /// The lines that were read, taken or refused.
  package var read: Int { records.count + refusals.count }

  /// Plans an import; throws where the options contradict what is known of the fields.
  ///
  /// - Parameters:
  ///   - file: The rows, with the lines that are refused already.
  ///   - recordType: What the records are; exported ones say it themselves, and others are refused.
  ///   - keepsZones: Whether exported records go where the export has them, and not where all go.
  ///   - idField: The field that names the record; without one, `makeName` does.
  ///   - references: Fields that refer to a record, with the type of that record.
  ///   - knownTypes: Wire types of the fields that the mirror or the queue already has.
  ///   - makeName: Makes a new record name.
  package init(
    _ file: RecordFile,
    recordType: String,
    keepsZones: Bool = true,
    idField: String?,
    references: [String: String],
    knownTypes: [String: String],
    makeName: () -> String
  ) throws(FieldError) {
    let reader = RowReader(
      recordType: recordType,
      idField: idField,
      references: Set(references.keys),
      known: try Self.known(knownTypes, references: references)
    )
    refusals = file.refusals

    // Refused lines have no say in the types of the columns, so they are sorted out first.
    var drafts: [RowReader.Draft] = []
    for row in file.rows {
      do throws(FieldError) {
        var draft = try reader.draft(row, makeName: makeName)
        if !keepsZones { draft.zone = nil }
        drafts.append(draft)
      } catch {
        refuse(row.line, error)
      }
    }
    var columns: [String: ColumnType] = [:]
    var fitting: [RowReader.Draft] = []
    for draft in drafts {
      do throws(FieldError) {
        try reader.include(draft, in: &columns)
        fitting.append(draft)
      } catch {
        refuse(draft.line, error)
      }
    }
    // By bytes: two spellings that Swift takes for equal are two records to the server.
    var lines: [ZoneKey?: [[UInt8]: Int]] = [:]
    let types = columns.compactMapValues(\.result)
    for draft in fitting {
      do throws(FieldError) {
        let record = try reader.record(draft, types)
        if let earlier = lines[draft.zone]?[Array(draft.name.utf8)] {
          throw FieldError(
            field: draft.zone == nil ? idField : "recordName",
            "'\(draft.name)' names the record of line \(earlier) already; keep one of the two"
          )
        }
        lines[draft.zone, default: [:]][Array(draft.name.utf8)] = draft.line
        records.append(record)
      } catch {
        refuse(draft.line, error)
      }
    }
    refusals.sort { $0.line < $1.line }
  }

  private mutating func refuse(_ line: Int, _ error: FieldError) {
    refusals.append(ImportRefusal(line: line, field: error.field, message: error.message))
  }

  private static func known(
    _ types: [String: String],
    references: [String: String]
  ) throws(FieldError) -> [String: RowReader.KnownType] {
    for field in references.keys.sorted() {
      guard NameRule.isFieldName(field) else { throw FieldError(field: field, NameRule.fieldNameProblem(field)) }
      switch types[field] {
      case nil, "REFERENCE", "REFERENCE_LIST", "UNKNOWN_LIST": break
      case .some(let type):
        throw FieldError(field: field, "\(field) is \(type) already and cannot become REFERENCE; leave out --reference")
      }
    }
    return types.filter { $0.value != "UNKNOWN_LIST" }
      .mapValues { WireTypeTag($0).map(RowReader.KnownType.writable) ?? .foreign($0) }
  }
}

extension ImportPlan {
  /// Reads `FIELD=TYPE` options into what `references` takes.
  package static func references(parsing options: [String]) throws(FieldError) -> [String: String] {
    var references: [String: String] = [:]
    for option in options {
      let parts = option.split(separator: "=", omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 2, NameRule.isFieldName(parts[0]), NameRule.isFieldName(parts[1]) else {
        throw FieldError(field: nil, "'\(option)' names no reference; write FIELD=TYPE, as in country=Country")
      }
      if let other = references.updateValue(parts[1], forKey: parts[0]), other != parts[1] {
        throw FieldError(
          field: parts[0],
          "\(parts[0]) refers to \(other) and to \(parts[1]); give --reference once a field"
        )
      }
    }
    return references
  }
}
