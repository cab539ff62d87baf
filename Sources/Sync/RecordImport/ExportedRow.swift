import CloudKit
import CloudSync

/// A row written by `records export`: a record with its name, zone and type, and the types of its fields.
struct ExportedRow {
  let name: String
  let zone: ZoneKey
  let recordType: String
  private(set) var fields: [String: (type: String, value: SourceValue)] = [:]

  /// Nil if the row has another form.
  init?(_ row: ImportRow) {
    guard case .text(let name)? = row.fields["recordName"], case .text(let recordType)? = row.fields["recordType"],
      case .text(let zone)? = row.fields["zone"], case .object(let members, _)? = row.fields["fields"]
    else { return nil }
    let owner = row.fields["owner"]?.text ?? ""
    self.name = name
    self.recordType = recordType
    self.zone = ZoneKey(zone: zone, owner: owner)
    for (field, member) in members {
      guard case .object(let parts, _) = member, case .text(let type)? = parts["type"], let value = parts["value"]
      else { return nil }
      fields[field] = (type, value)
    }
  }
}
