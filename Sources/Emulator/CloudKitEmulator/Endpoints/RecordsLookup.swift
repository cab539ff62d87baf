import CloudKitSchema
import JSONText

/// `records/lookup` (reference 5.2). It returns every committed write at once. [L3]
extension Endpoint {
  func lookup() throws(ServerError) -> JSONObject {
    let items = try items("records")
    let view = try view(of: call.body["zoneID"])
    let keys = Self.names(call.body["desiredKeys"])
    let encoder = encoder()
    var room = configuration.answerSizeLimit
    let results = try items.map { (item) throws(ServerError) in
      guard let name = item["recordName"]?.string else { throw .badRequest("Missing 'recordName'") }
      return JSON.item(["recordName": .string(name)]) { () throws(ServerError) in
        guard let record = record(name, in: view) else { throw ServerError(.notFound, "Record not found") }
        guard mayRead(record, encoder.schema) else { throw CKSchema.Permission.read.refusal }
        // How the real service limits the size of a response is unknown. [E]
        guard record.content.fits(&room, of: configuration) else {
          throw configuration.exceeded(
            "The response would exceed \(configuration.answerSizeLimit) bytes; request this record again"
          )
        }
        return encoder.json(record, in: view, keys: Self.names(item["desiredKeys"]) ?? keys)
      }
    }
    return ["records": .array(results)]
  }
}
