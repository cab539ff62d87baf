extension NSKeyedUnarchiver {
  /// Returns an unarchiver that reports errors; nil for bytes that are no archive, which would end the process inside
  /// Foundation.
  package static func reading(_ data: Data) -> NSKeyedUnarchiver? {
    let list = (try? PropertyListSerialization.propertyList(from: data, format: nil)) as? [String: Any]
    guard let list, list["$archiver"] is String, list["$top"] is [String: Any], list["$objects"] is [Any],
      let unarchiver = try? NSKeyedUnarchiver(forReadingFrom: data)
    else { return nil }
    unarchiver.requiresSecureCoding = true
    unarchiver.returnErrors()
    return unarchiver
  }
}
