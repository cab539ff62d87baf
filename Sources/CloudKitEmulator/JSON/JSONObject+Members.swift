/// Reads optional members that must have the right type if present. An invalid member is rejected, because ignoring it
/// could widen the result. [E]
extension JSONObject {
  func list(_ key: String) throws(ServerError) -> [JSON]? {
    guard let json = self[key], json != .null else { return nil }
    guard let array = json.array else { throw .badRequest("Invalid value for '\(key)', expected a list") }
    return array
  }

  func flag(_ key: String) throws(ServerError) -> Bool? {
    guard let json = self[key], json != .null else { return nil }
    guard let flag = json.bool else { throw .badRequest("Invalid value for '\(key)', expected true or false") }
    return flag
  }
}
