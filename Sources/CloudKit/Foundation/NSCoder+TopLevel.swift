extension NSCoder {
  /// Decodes the object under a key of an archive's top level, throwing over damage.
  ///
  /// Foundation on Linux marks its own as unavailable.
  ///
  /// - Returns: The object; nil where the key is absent.
  /// - Throws: What is wrong with the archive.
  public func decodeTopLevelObject<Object: NSObject & NSCoding>(
    of type: Object.Type,
    forKey key: String
  ) throws -> Object? {
    try topLevelObject(of: [type], forKey: key) as? Object
  }

  /// Decodes an object of one of several classes under a key of an archive's top level, throwing over damage.
  ///
  /// - Returns: The object; nil where the key is absent.
  /// - Throws: What is wrong with the archive.
  public func decodeTopLevelObject(of classes: [AnyClass]?, forKey key: String) throws -> Any? {
    try topLevelObject(of: classes, forKey: key)
  }

  /// Decodes the object under a key of an archive's top level, of any class, throwing over damage.
  ///
  /// - Returns: The object; nil where the key is absent.
  /// - Throws: What is wrong with the archive.
  public func decodeTopLevelObject(forKey key: String) throws -> Any? {
    try topLevelObject(of: nil, forKey: key)
  }

  private func topLevelObject(of classes: [AnyClass]?, forKey key: String) throws -> Any? {
    (self as? NSKeyedUnarchiver)?.returnErrors()
    guard containsValue(forKey: key) else { return nil }
    let object = classes.map { decodeObject(of: $0, forKey: key) } ?? decodeObject(forKey: key)
    if let error { throw error }
    return object
  }
}
