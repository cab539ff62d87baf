// The collections of objects that Foundation on Linux does not decode. An object of another class is an error, where
// Foundation would end the process.

extension NSKeyedUnarchiver {
  /// Decodes an archived array of objects of one class.
  ///
  /// - Returns: The array; nil if the archive has no root object.
  /// - Throws: The decoding error.
  public static func unarchivedArrayOfObjects<Object: NSObject & NSSecureCoding>(
    ofClass type: Object.Type,
    from data: Data
  ) throws -> [Object]? {
    try unarchivedArrayOfObjects(ofClasses: [type], from: data)?.map { try cast($0) }
  }

  /// Decodes an archived array of objects of some classes.
  ///
  /// - Returns: The array; nil if the archive has no root object.
  /// - Throws: The decoding error.
  public static func unarchivedArrayOfObjects(ofClasses classes: [AnyClass], from data: Data) throws -> [Any]? {
    guard let array = try root(NSArray.self, of: classes, from: data) else { return nil }
    let elements = array.elements
    try check(elements, classes)
    return elements
  }

  /// Decodes an archived dictionary whose keys are of one class, and whose values are of one.
  ///
  /// - Returns: The dictionary; nil if the archive has no root object.
  /// - Throws: The decoding error.
  public static func unarchivedDictionary<
    Key: NSObject & NSCopying & NSSecureCoding,
    Object: NSObject & NSSecureCoding
  >(ofKeyClass keyType: Key.Type, objectClass type: Object.Type, from data: Data) throws -> [Key: Object]? {
    guard let dictionary = try root(NSDictionary.self, of: [keyType, type], from: data) else { return nil }
    let keys: [Key] = try dictionary.allKeys.map { try cast($0) }
    return Dictionary(uniqueKeysWithValues: zip(keys, try dictionary.allValues.map { try cast($0) }))
  }

  /// Decodes an archived dictionary whose keys are of some classes, and whose values are of some.
  ///
  /// - Returns: The dictionary; nil if the archive has no root object.
  /// - Throws: The decoding error.
  public static func unarchivedDictionary(
    keysOfClasses keyClasses: [AnyClass],
    objectsOfClasses classes: [AnyClass],
    from data: Data
  ) throws -> [AnyHashable: Any]? {
    guard let dictionary = try root(NSDictionary.self, of: keyClasses + classes, from: data) else { return nil }
    try check(dictionary.allKeys, keyClasses)
    try check(dictionary.allValues, classes)
    return [AnyHashable: Any]._unconditionallyBridgeFromObjectiveC(dictionary)
  }

  private static func root<Collection: NSObject>(
    _ type: Collection.Type,
    of classes: [AnyClass],
    from data: Data
  ) throws -> Collection? {
    guard let unarchiver = reading(data) else { throw CocoaError(.propertyListReadCorrupt) }
    let allowed = NSCoder.archivable + classes
    let root = try unarchiver.decodeTopLevelObject(of: allowed, forKey: NSKeyedArchiveRootObjectKey)
    return try root.map { try cast($0) }
  }

  /// Returns an element as an object: Foundation hands strings and other values out as Swift's. A share that cannot be
  /// read is an error, as at the top level.
  private static func cast<Object: NSObject>(_ element: Any) throws -> Object {
    guard let object = element as? Object, (object as? CKShare)?.isReadable != false else {
      throw CocoaError(.coderReadCorrupt)
    }
    return object
  }

  private static func check(_ elements: [Any], _ classes: [AnyClass]) throws {
    for element in elements { try NSCoder.check(try cast(element) as NSObject, classes) }
  }
}
