import CloudKitSchema
import JSONText

/// `assets/upload` and `assets/rereference` (reference 5.9). [D]
extension Endpoint {
  /// Returns one upload URL per token, in the order of the tokens. [C]
  func uploadAssets() throws(ServerError) -> Decision {
    let view = try view(of: call.body["zoneID"])
    let zone = view.zone
    // Callers without any write access cannot upload. [E]
    if view.access?.mayWrite == false { throw CKSchema.Permission.write.refusal }
    var tokens: [JSON] = []
    for token in try items("tokens") {
      // A missing record name is generated. [D]
      guard let type = token["recordType"]?.string, CKSchema.isName(type), let field = token["fieldName"]?.string,
        CKSchema.isName(field)
      else { throw .badRequest("A token needs a 'recordType' and a 'fieldName'") }
      if let guards, !guards.mayWriteSome(schema?[type]) { throw CKSchema.Permission.write.refusal }
      let number = world.uploads + tokens.count + 1
      let id = Derived.uuid("\(seed)/upload/\(zone.identity)/\(number)/\(call.milliseconds)")
      let record = token["recordName"]?.string ?? Derived.uuid("record of \(id)")
      guard StoredRecord.isName(record) else { throw .badRequest("Invalid 'recordName'") }
      let ticket = UploadTicket(
        id: id,
        zone: zone.identity,
        record: record,
        field: field,
        expires: call.milliseconds + UploadTicket.lifetime
      )
      let url = "\(call.baseURL)\(AssetPath.upload)\(id)?ticket=\(ticket.text(world.seal))"
      tokens.append(.object(["recordName": .string(record), "fieldName": .string(field), "url": .string(url)]))
    }
    return Decision(uploads: tokens.count) { ["tokens": .array(tokens)] }
  }

  /// Returns receipts for stored files, valid for any record of the same zone. The name of the response's wrapper is
  /// not documented. [E] (Question 10)
  func rereferenceAssets() throws(ServerError) -> Decision {
    let view = try view(of: call.body["zoneID"])
    var answers: [JSON] = []
    var kept: [AssetReceipt] = []
    let schema = schema
    for item in try items("assets") {
      guard let name = item["recordName"]?.string, let field = item["fieldName"]?.string else {
        throw .badRequest("An asset needs a 'recordName' and a 'fieldName'")
      }
      let identity: JSONObject = ["recordName": .string(name), "fieldName": .string(field)]
      let found: [EmulatorValue]
      let record = record(name, in: view).flatMap { mayRead($0, schema) ? $0 : nil }
      switch record?.content.fields[field] {
      case .list(.asset, let elements): found = elements
      case .asset(let asset): found = [.asset(asset)]
      default:
        answers.append(.object(ServerError(.notFound, "Asset not found").members(after: identity)))
        continue
      }
      // The response has one dictionary per element of a list. [E]
      for case .asset(let asset) in found {
        let expires = call.milliseconds + AssetReceipt.lifetime
        let receipt = AssetReceipt(asset: asset, zone: view.zone.identity, expires: expires)
        kept.append(receipt)
        answers.append(.object(.joining(identity, receipt.json(world.seal))))
      }
    }
    return Decision(kept: kept) { [self] in JSONObject([(assumptions.rereferenceWrapper, .array(answers))]) }
  }

  /// Returns the asset of a field value, which needs a valid receipt for this field of this record. [D]
  func asset(
    _ object: JSONObject,
    for record: String,
    field: String,
    in zone: ZoneState
  ) throws(ServerError) -> EmulatorAsset {
    // A dictionary read from a record has no receipt, so it cannot be written back. [C]
    guard let text = object["receipt"]?.string else { throw .badRequest("Missing asset receipt in field '\(field)'") }
    guard let receipt = AssetReceipt(text, seal: world.seal), receipt.zone == zone.identity,
      receipt.target.map({ $0.record == record && $0.field == field }) ?? true, call.milliseconds < receipt.expires,
      world.assets.holds(receipt.asset.id)
    else { throw .badRequest("Unknown asset receipt in field '\(field)'") }
    if let checksum = object["fileChecksum"]?.string, checksum != receipt.asset.fileChecksum {
      throw .badRequest("The checksum in field '\(field)' does not match the receipt")
    }
    return receipt.asset
  }
}
