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
    let isArchivable = classes?.allSatisfy(Self.isArchivable) == true
    try returnErrors { isArchivable && $0 == key }
    guard containsValue(forKey: key) else { return nil }
    guard let classes else { return try successful(decodeObject(forKey: key)) }
    guard classes.allSatisfy(Self.isOwn) else { return try successful(decodeObject(of: classes, forKey: key)) }
    // Foundation ends the process at an object of another class, which damage can cause.
    guard let object = try successful(topLevelObject(forKey: key)) else { return nil }
    try Self.check(object, classes)
    return object
  }

  /// Throws for an object of none of the classes.
  static func check(_ object: Any, _ classes: [AnyClass]) throws {
    func isObject<Object: AnyObject>(of type: Object.Type) -> Bool { object is Object }
    guard classes.contains(where: { isObject(of: $0) }) else { throw CocoaError(.coderReadCorrupt) }
  }

  /// Returns a decoded object, or throws the coder's error.
  private func successful(_ object: Any?) throws -> Any? {
    if let error { throw error }
    return object
  }
}
