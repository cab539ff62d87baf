extension NSCoder {
  /// Decodes the object for a key at an archive's top level. Throws if the archive is damaged.
  ///
  /// Foundation on Linux marks its own version as unavailable.
  ///
  /// - Returns: The object; nil if the key is absent.
  /// - Throws: The decoding error.
  public func decodeTopLevelObject<Object: NSObject & NSCoding>(
    of type: Object.Type,
    forKey key: String
  ) throws -> Object? {
    try topLevelObject(of: [type], forKey: key) as? Object
  }

  /// Decodes an object of one of several classes for a key at an archive's top level. Throws if the archive is damaged.
  ///
  /// - Returns: The object; nil if the key is absent.
  /// - Throws: The decoding error.
  public func decodeTopLevelObject(of classes: [AnyClass]?, forKey key: String) throws -> Any? {
    try topLevelObject(of: classes, forKey: key)
  }

  /// Decodes an object of any class for a key at an archive's top level. Throws if the archive is damaged.
  ///
  /// - Returns: The object; nil if the key is absent.
  /// - Throws: The decoding error.
  public func decodeTopLevelObject(forKey key: String) throws -> Any? {
    try topLevelObject(of: nil, forKey: key)
  }

  private func topLevelObject(of classes: [AnyClass]?, forKey key: String) throws -> Any? {
    try returnErrors()
    guard containsValue(forKey: key) else { return nil }
    // Foundation ends the process at another class than these, which damage can cause.
    let object =
      switch classes {
      case nil: decodeObject(forKey: key)
      case let classes? where classes.allSatisfy(Self.isOwn): archivedObject(forKey: key)
      case let classes?: decodeObject(of: classes, forKey: key)
      }
    if let error { throw error }
    return object
  }
}
