import CloudKitSchema
import Foundation
import JSONText

/// `records/query` (reference 5.1). [D]
extension Endpoint {
  func query() throws(ServerError) -> JSONObject {
    guard let query = call.body["query"]?.object, let type = query["recordType"]?.string else {
      throw .badRequest("Missing 'query' or its 'recordType'")
    }
    // [D]
    guard type != CKSchema.usersType else { throw .badRequest("Records of type 'Users' cannot be queried") }
    let views = try queriedViews()
    guard let recordType = schema?[type] else { throw unknownType(type) }
    let conditions = try query.list("filterBy") ?? []
    // [E] (Question 22)
    if let limit = assumptions.filterLimit, conditions.count > limit {
      throw .badRequest("Too many filters")
    }
    let filters = try conditions.map { (filter) throws(ServerError) in
      guard let object = filter.object else { throw .badRequest("BadRequestException: Unexpected input") }
      return try QueryFilter(object, type: recordType, assumptions: assumptions)
    }
    // A query without filters uses the index of record names. [L3]
    if filters.isEmpty { try QueryField.system(.recordName).require(.queryable, of: recordType) }
    let order = try QueryOrder(try query.list("sortBy") ?? [], type: recordType, assumptions: assumptions)
    let hash = Derived.number(JSON.object(query).text + views.map(\.path).joined(separator: "/"))
    var after: QueryOrder.Position?
    if let marker = call.body["continuationMarker"] {
      after = try ContinuationMarker(marker.string ?? "", query: hash).position
    }
    if call.faults.emptiesPages {
      let marker = ContinuationMarker(query: hash, position: after)
      return ["records": .array([]), "continuationMarker": .string(marker.text)]
    }
    let plan = QueryPlan(
      type: type,
      filters: filters,
      order: order,
      after: after,
      limit: try pageLimit(),
      creator: try readableCreator(recordType),
      newestVisible: call.milliseconds - max(configuration.indexDelay.milliseconds, Int64(call.faults.indexDelay))
    )
    var (page, isCut) = ([QueryPlan.Found](), false)
    for view in views {
      page += plan.page(in: view)
      if views.count > 1 { page.sort { order.precedes($0.position, $1.position) } }
      isCut = cut(&page, plan.limit) || isCut
    }
    let keys = Self.names(call.body["desiredKeys"])
    let encoder = encoder()
    var answer: JSONObject = [
      "records": .array(page.map { .object(encoder.json($0.record, in: $0.view, keys: keys)) })
    ]
    if call.faults.stallsMarkers {
      answer.append("continuationMarker", .string(ContinuationMarker(query: hash, position: after).text))
    } else if isCut, let last = page.last {
      answer.append("continuationMarker", .string(ContinuationMarker(query: hash, position: last.position).text))
    }
    return answer
  }

  /// Cuts a page at its limit or at the size limit of the response, and returns whether there was more.
  private func cut(_ page: inout [QueryPlan.Found], _ limit: Int) -> Bool {
    var room = configuration.answerSizeLimit
    let kept = page.prefix(limit).prefix { $0.record.content.fits(&room, of: configuration) }.count
    defer { page.removeLast(page.count - kept) }
    return page.count > kept
  }

  /// Returns the error for an unknown record type. The reason comes from native logs; the code is a guess. [2nd]
  /// (Question 14)
  func unknownType(_ name: String) -> ServerError {
    let isBadRequest = assumptions.unknownRecordType == .badRequest
    return ServerError(isBadRequest ? .badRequest : .notFound, "Did not find record type: \(name)")
  }

  /// Returns the user whose records alone the caller may read; `nil` for all records. A query that could find nothing
  /// is rejected. [E]
  private func readableCreator(_ type: CKSchema.RecordType) throws(ServerError) -> String? {
    guard let guards, !guards.may(.read, type) else { return nil }
    guard guards.mayAsCreator(.read, type) else { throw CKSchema.Permission.read.refusal }
    return guards.user
  }

  /// Returns the zones of a query. `zoneWide` means all zones, and is ignored if there is a `zoneID`. [D]
  private func queriedViews() throws(ServerError) -> [ZoneView] {
    guard call.body["zoneID"] == nil, try call.body.flag("zoneWide") == true else {
      return [try view(of: call.body["zoneID"])]
    }
    return views()
  }
}

extension StoredRecord.Content {
  /// Subtracts the record's size from the remaining room, if it fits. An empty response accepts a record of any size.
  func fits(_ room: inout Int, of configuration: EmulatorConfiguration) -> Bool {
    let size = size
    guard size <= room || room == configuration.answerSizeLimit else { return false }
    room -= min(size, room)
    return true
  }
}

extension Duration {
  /// The duration in whole milliseconds, truncated.
  var milliseconds: Int64 {
    components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
  }
}
