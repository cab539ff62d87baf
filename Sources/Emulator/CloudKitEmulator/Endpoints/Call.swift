import Foundation
import JSONText

/// A request with a known operation, an authenticated caller and a parsed body.
struct Call {
  var route: Route
  var caller: Caller
  var body: JSONObject
  var time: Date
  /// The base of the URLs in the response.
  var baseURL = "http://emulator.invalid"
  var faults = FaultEffects()
  /// Whether the response of a record operation includes the zone's sync token, for clients of first-party hosts that
  /// request it in the query. [L1]
  var wantsSyncToken = false

  var milliseconds: Int64 { Timestamps.milliseconds(time) }

  /// The encoding of field values. Both documented spellings of `numbersAsStrings` are accepted. [D]
  var encoding: FieldEncoding { Self.encoding(body) ?? FieldEncoding() }

  static func encoding(_ object: JSONObject) -> FieldEncoding? {
    (object["numbersAsStrings"] ?? object["numberAsStrings"])?.bool.map { FieldEncoding(numbersAsStrings: $0) }
  }
}
