internal import Foundation
package import JSONText

// Rare types leave their encoding to `Codable`. The tree between it and the bytes has one rule for repeated keys.

extension JSONReadable where Self: Decodable {
  package init(json: inout JSONReader) throws(JSONError) {
    let start = json.offset
    let document = try JSON(json: &json).sorted.data
    do {
      self = try JSONDecoder().decode(Self.self, from: document)
    } catch {
      throw json.failure("invalid \(Self.self)", at: start)
    }
  }
}

extension JSONWritable where Self: Encodable {
  package func write(to json: inout JSONWriter) {
    guard let object = jsonObject else { return json.fail("\(Self.self) could not be encoded") }
    JSON.object(object).write(to: &json)
  }

  /// The members of the encoded value.
  var jsonObject: JSONObject? {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return (try? encoder.encode(self)).flatMap { try? JSON(json: $0).object }
  }
}
