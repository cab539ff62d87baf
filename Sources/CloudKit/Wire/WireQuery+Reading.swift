package import JSONText

extension WireQuery: JSONReadable {
  package init(json: inout JSONReader) throws(JSONError) {
    let start = json.offset
    var recordType: String?
    var filterBy: [WireFilter]?
    var sortBy: [WireSort]?
    try json.enterObject()
    while let key = try json.nextKey() {
      switch key {
      case "recordType": try json.read(into: &recordType)
      case "filterBy": try json.read(into: &filterBy)
      case "sortBy": try json.read(into: &sortBy)
      default: try json.skip()
      }
    }
    guard let recordType else { throw json.failure("a query without a record type", at: start) }
    self.init(recordType: recordType, filterBy: filterBy ?? [], sortBy: sortBy ?? [])
  }
}

extension WireFilter: JSONReadable {
  package init(json: inout JSONReader) throws(JSONError) {
    let start = json.offset
    var (comparator, field, system): (String?, String?, String?)
    var value: FieldValue?
    var distance: Double?
    try json.enterObject()
    while let key = try json.nextKey() {
      switch key {
      case "comparator": try json.read(into: &comparator)
      case "fieldName": try json.read(into: &field)
      case "systemFieldName": try json.read(into: &system)
      case "fieldValue": try json.read(into: &value)
      case "distance": try json.read(into: &distance)
      default: try json.skip()
      }
    }
    guard let comparator, let value else { throw json.failure("a filter without a comparator or value", at: start) }
    self.init(WireFieldName(field: field, system: system), comparator, value, distance: distance)
  }
}

extension WireSort: JSONReadable {
  package init(json: inout JSONReader) throws(JSONError) {
    var (field, system): (String?, String?)
    var ascending: Bool?
    var place: FieldValue?
    try json.enterObject()
    while let key = try json.nextKey() {
      switch key {
      case "fieldName": try json.read(into: &field)
      case "systemFieldName": try json.read(into: &system)
      case "ascending": try json.read(into: &ascending)
      case "relativeLocation": try json.read(into: &place)
      default: try json.skip()
      }
    }
    self.init(WireFieldName(field: field, system: system), ascending: ascending ?? true)
    if case .location(let location) = place { relativeLocation = location }
  }
}

extension WireFieldName {
  fileprivate init(field: String?, system: String?) {
    self = field.map(WireFieldName.field) ?? system.map(WireFieldName.system) ?? .wholeRecord
  }
}
