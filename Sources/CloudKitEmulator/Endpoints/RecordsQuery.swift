import Foundation

/// `records/query` (5.1).
extension EmulatorCore {
  func query(_ call: Call) throws(ServerError) -> JSONObject {
    try requireRead(call)
    guard let query = call.body["query"]?.object, let type = query["recordType"]?.string else {
      throw .badRequest("Missing 'query' or its 'recordType'")
    }
    guard type != "Users" else { throw .badRequest("Records of type 'Users' cannot be queried") }
    let places = try queriedPlaces(call)
    guard let fields = schemas[call.route.schema]?[type] else {
      throw ServerError(.notFound, "Did not find record type: \(type)")
    }
    var filters: [QueryFilter] = []
    for filter in query["filterBy"]?.array ?? [] {
      guard let object = filter.object else { throw .badRequest("BadRequestException: Unexpected input") }
      filters.append(try QueryFilter(object, type: type, fields: fields, configuration: configuration))
    }
    if filters.isEmpty, configuration.notQueryable.contains("\(type).recordName") {
      throw .badRequest("Field 'recordName' is not marked queryable")
    }
    let order = try QueryOrder(query["sortBy"], type: type, fields: fields, configuration: configuration)
    let hash = Derived.number(JSONWriter.text(.object(query)) + places.map(\.path).joined(separator: "/"))
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
      limit: try pageLimit(call.body),
      newestVisible: call.milliseconds - max(configuration.indexDelay.milliseconds, Int64(call.faults.indexDelay))
    )
    var found = places.flatMap { plan.page(in: $0) }
    if places.count > 1 { found.sort { order.precedes($0.position, $1.position) } }
    let page = found.prefix(plan.limit)
    let keys = Self.names(call.body["desiredKeys"])
    var answer: JSONObject = [
      "records": .array(page.map { json($0.record, in: $0.place, keys: keys, call) })
    ]
    if call.faults.stallsMarkers {
      answer.append("continuationMarker", .string(ContinuationMarker(query: hash, position: after).text))
    } else if found.count > plan.limit, let last = page.last {
      answer.append("continuationMarker", .string(ContinuationMarker(query: hash, position: last.position).text))
    }
    return answer
  }

  /// `zoneWide` means all zones, and nothing next to a `zoneID`. [D]
  private func queriedPlaces(_ call: Call) throws(ServerError) -> [Place] {
    guard call.body["zoneID"] == nil, call.body["zoneWide"]?.bool == true else {
      return [try place(call.body["zoneID"], for: call)]
    }
    return places(for: call)
  }
}

extension Duration {
  /// Whole milliseconds, cut off.
  var milliseconds: Int64 {
    components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
  }
}
