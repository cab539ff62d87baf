extension NSKeyedUnarchiver {
  /// Returns an unarchiver that reports errors; nil for bytes that are no archive.
  package static func reading(_ data: Data) -> NSKeyedUnarchiver? {
    guard ArchiveCheck.canBeRead(data) else { return nil }
    let unarchiver = try? NSKeyedUnarchiver(forReadingFrom: data)
    unarchiver?.requiresSecureCoding = true
    return unarchiver
  }

  /// Decodes the root object of an archive. For a class of CloudKit, a damaged archive is an error, where Foundation on
  /// Linux could end the process.
  ///
  /// - Returns: The object; nil if the archive has no root object.
  /// - Throws: The decoding error.
  public static func unarchivedObject<Object: NSObject & NSSecureCoding>(
    ofClass type: Object.Type,
    from data: Data
  ) throws -> Object? {
    guard isOwn(type) else { return try unarchivedObject(ofClasses: [type], from: data) as? Object }
    guard let unarchiver = reading(data) else { throw CocoaError(.propertyListReadCorrupt) }
    return try unarchiver.decodeTopLevelObject(of: type, forKey: NSKeyedArchiveRootObjectKey)
  }
}
