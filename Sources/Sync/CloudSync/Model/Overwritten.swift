package import CloudKit
package import JSONText

/// The server's side of a record that a decision for this machine, a policy or an undo overwrites.
///
/// It has no files: the server deletes them with the version of the record that held them.
package struct Overwritten: Hashable, Sendable {
  /// The server's values of the overwritten fields; nil if the server had deleted the record.
  package var values: FieldChanges?
  /// The values that take their place; nil if the record is deleted.
  package var replacements: [String: FieldValue]?

  private init(_ values: FieldChanges?, _ replacements: [String: FieldValue]?) {
    (self.values, self.replacements) = (values, replacements)
  }

  /// The server's values of fields that changes overwrite; nil if none of them can be restored.
  init?(_ names: Set<String>, of server: [String: FieldValue], by changes: FieldChanges) {
    var values = FieldChanges()
    for name in names where !changes[name].isSame(as: server[name]) && server[name]?.hasFiles != true {
      values.merge(name, server[name], changes.rules[name])
    }
    guard !values.isEmpty else { return nil }
    self.init(values, changes.values.filter { values.names.contains($0.key) })
  }

  /// A record that is deleted although the server's version was edited.
  static func record(_ fields: [String: FieldValue]) -> Overwritten {
    Overwritten(FieldChanges(values: fields.filter { !$0.value.hasFiles }), nil)
  }

  /// The server's deletion of a record that these fields recreate.
  static func deletion(by fields: [String: FieldValue]) -> Overwritten { Overwritten(nil, fields) }

  /// The part that does not wait in its operation's own changes: only that has been overwritten so far.
  func sent(of operation: QueuedOperation) -> Overwritten? {
    switch (values, replacements) {
    case (let values?, _?):
      let sent = values.only(values.names.subtracting(operation.changes.names))
      return sent.isEmpty ? nil : Overwritten(sent, replacements)
    case (_?, nil): return operation.kind == .delete ? nil : self
    case (nil, _): return operation.baseTag == nil ? nil : self
    }
  }
}

extension Overwritten: JSONReadable, JSONWritable {
  package init(json: inout JSONReader) throws(JSONError) {
    var values: FieldChanges?
    var replacements: [String: FieldValue]?
    try json.enterObject()
    while let key = try json.nextKey() {
      switch key {
      case "values": try json.read(into: &values)
      case "replacements": try json.read(into: &replacements)
      default: try json.skip()
      }
    }
    self.init(values, replacements)
  }

  package func write(to json: inout JSONWriter) {
    json.beginObject()
    json.member("replacements", replacements)
    json.member("values", values)
    json.endObject()
  }
}

extension FieldValue {
  /// Whether it refers to files, which cannot be restored after the server has dropped them.
  var hasFiles: Bool { assets?.isEmpty == false }
}
