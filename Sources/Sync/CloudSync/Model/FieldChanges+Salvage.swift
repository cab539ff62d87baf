import CloudKit
import Foundation
import JSONText

extension FieldChanges {
  /// The part of a damaged column that can be read, and the names of the fields that it lost.
  ///
  /// - Parameter text: the stored changes.
  /// - Returns: nil if nothing can be read.
  static func salvaged(from text: String) -> (kept: FieldChanges, lost: [String])? {
    guard var object = try? JSON(json: Data(text.utf8)).object else { return nil }
    let values = object["values"]?.object?.members ?? []
    let readable = values.filter { member in (try? FieldValue(json: member.value.json())) != nil }
    let lost = Set(values.map(\.key)).subtracting(readable.map(\.key)).sorted()
    object["values"] = .object(JSONObject(readable.map { ($0.key, $0.value) }))
    if let kept = try? FieldChanges(json: JSON.object(object).json()) { return (kept, lost) }
    // The rest of the column is damaged: which fields it cleared is not known.
    let rest: JSONObject = ["values": object["values"] ?? .null]
    guard let kept = try? FieldChanges(json: JSON.object(rest).json()) else { return nil }
    return (kept, lost)
  }
}
