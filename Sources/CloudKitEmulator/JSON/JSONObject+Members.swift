/// Members that may be left out, and have to be of their kind where they are not: what cannot be read would otherwise widen
/// an answer without a word. [E]
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
