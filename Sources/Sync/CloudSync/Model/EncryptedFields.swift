import CloudKit

/// The encrypted fields of record types, read once for the changes of a transaction.
///
/// The schema encrypts a field of a type in all records. A plain value would be rejected, or stored in plain text where
/// the server makes fields as they come, so that the queue accepts none.
struct EncryptedFields {
  /// The wire types of encrypted fields, by record type.
  private var types: [String: [String: String]] = [:]

  /// Returns the encrypted fields that a change sets to plain values, with their wire types.
  ///
  /// The mirror knows better: a field that its newest records have in plain text is not encrypted.
  mutating func concerned(by change: Change, _ ledger: Ledger) throws -> [String: String] {
    guard case .save(let type, let fields) = change.kind else { return [:] }
    return try concerned(by: fields, of: type, ledger)
  }

  /// Returns the encrypted fields that changes of a record of a type set to plain values, with their wire types.
  mutating func concerned(by fields: FieldChanges, of type: String, _ ledger: Ledger) throws -> [String: String] {
    var known = try types[type] ?? read(type, ledger)
    if Self.problem(of: fields, known) != nil {
      let fetched = try ledger.fieldTypesBySource(of: type).fetched
      known = known.filter { fetched[$0.key].map(WireTypeTag.isEncrypted) ?? true }
    }
    types[type] = known
    return known
  }

  private func read(_ type: String, _ ledger: Ledger) throws -> [String: String] {
    try ledger.encryptedFields(of: type).reduce(into: [:]) { $0[$1.name] = $1.wireType }
  }

  /// Takes an accepted change into account, which may not be written yet.
  mutating func note(_ change: Change) {
    guard case .save(let type, let fields) = change.kind else { return }
    for name in fields.encrypted { types[type, default: [:]][name] = fields[name]?.wireType }
  }

  /// The reason why changes are refused: they set an encrypted field to a plain value; nil if there is none.
  ///
  /// - Parameter known: the encrypted fields of the record type, with their wire types.
  static func problem(of fields: FieldChanges, _ known: [String: String]) -> String? {
    guard !known.isEmpty else { return nil }
    for (name, value) in fields.values.sorted(by: { $0.key < $1.key }) {
      guard let secret = known[name] else { continue }
      if case .encrypted = value { continue }
      return "\(name) is \(secret) and cannot become \(value.wireType); "
        + "\(remedy(name, secret)), or in code encryptedValues[\"\(name)\"]"
    }
    return nil
  }

  /// How to write a field of an encrypted type. The elements of an empty list have no type to name.
  static func remedy(_ name: String, _ secret: String) -> String {
    "write \(name):\(WireTypeTag(secret) ?? .encrypted(.list(.string)))=…"
  }
}
