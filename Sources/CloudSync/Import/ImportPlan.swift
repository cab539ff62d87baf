package import CloudKit

/// A record of an imported file.
package struct ImportedRecord: Hashable, Sendable {
  package let line: Int
  package let name: String
  /// The zone of an exported record; nil for the zone of the import.
  package let zone: ZoneKey?
  package let fields: [String: FieldValue]
}

/// The records that an import enqueues and the lines that it rejects, decided for the whole file.
package struct ImportPlan: Hashable, Sendable {
  package private(set) var records: [ImportedRecord] = []
  /// Rejected lines in order, including those of the file itself.
  package private(set) var refusals: [ImportRefusal]
  /// The number of lines read.
  package var read: Int { records.count + refusals.count }

  /// Plans an import; throws if the options contradict the known fields.
  ///
  /// - Parameters:
  ///   - file: The rows, with lines that are rejected already.
  ///   - recordType: The type of the records; exported records of another type are rejected.
  ///   - keepsZones: Whether exported records keep their zone.
  ///   - idField: The field with the record name; without one, `makeName` creates it.
  ///   - references: Fields that refer to a record, with the type of that record.
  ///   - knownTypes: Wire types of the fields that the mirror or the queue already has.
  ///   - makeName: Returns a new record name.
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

    // Rejected lines must not affect the column types, so they are removed first.
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
    // By bytes: two encodings that Swift takes for equal are two records to the server.
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
  /// Parses `FIELD=TYPE` options for `references`.
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
