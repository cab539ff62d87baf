import CloudKitSchema
import JSONText

/// `records/lookup` (reference 5.2). It returns every committed write at once. [L3]
extension EmulatorCore {
  func lookup(_ call: Call) throws(ServerError) -> JSONObject {
    let items = try items("records", of: call.body)
    let place = try place(call.body["zoneID"], for: call)
    let keys = Self.names(call.body["desiredKeys"])
    var results: [JSON] = []
    var room = configuration.answerSizeLimit
    for item in items {
      guard let name = item["recordName"]?.string else { throw .badRequest("Missing 'recordName'") }
      if let record = record(name, in: place, for: call.caller) {
        guard mayRead(record, call) else {
          results.append(.object(CKSchema.Permission.read.refusal.members(after: ["recordName": .string(name)])))
          continue
        }
        // How the real service limits the size of a response is unknown. [E]
        guard record.content.fits(&room, of: configuration) else {
          let reason = "The response would exceed \(configuration.answerSizeLimit) bytes; request this record again"
          results.append(.object(configuration.exceeded(reason).members(after: ["recordName": .string(name)])))
          continue
        }
        let keys = Self.names(item["desiredKeys"]) ?? keys
        results.append(json(record, in: place, keys: keys, call))
      } else {
        let error = ServerError(.notFound, "Record not found")
        results.append(.object(error.members(after: ["recordName": .string(name)])))
      }
    }
    return ["records": .array(results)]
  }
}
