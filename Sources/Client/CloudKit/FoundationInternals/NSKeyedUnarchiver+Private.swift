internal import Foundation

extension NSKeyedUnarchiver {
  /// Whether decoding has begun; nil if the private flags cannot be read.
  var hasBegunDecoding: Bool? {
    let flags = privateProperty("_flags", of: self) as? any RawRepresentable
    return (flags?.rawValue as? UInt).map { $0 & 1 << 2 != 0 }
  }

  /// The objects of the archive, and the references to them at its top level; nil while an object is being decoded, and
  /// if the private properties cannot be read.
  var contents: (objects: [Any], top: [String: Any])? {
    guard let objects = privateProperty("_objects", of: self) as? [Any],
      let list = privateProperty("_containers", of: self),
      let contexts = Mirror(reflecting: list).children.first.map({ Mirror(reflecting: $0.value).children }),
      contexts.count == 1, let context = contexts.first,
      let top = privateProperty("dict", of: context.value) as? [String: Any]
    else { return nil }
    return (objects, top)
  }

  /// Returns the index of an object in a reference to it, whose class is private; nil for other values.
  static func index(of reference: Any?) -> Int? {
    guard let reference, "\(type(of: reference))" == "_NSKeyedArchiverUID" else { return nil }
    return (privateProperty("value", of: reference) as? UInt32).map { Int($0) }
  }
}

private func privateProperty(_ name: String, of object: Any) -> Any? {
  Mirror(reflecting: object).children.first { $0.label == name }?.value
}

extension NSCoder {
  /// Makes an unarchiver report damage as an error, as on Apple's systems, instead of terminating the process.
  ///
  /// The policy must be set before the first object: setting it later terminates the process too, and no public API
  /// reports whether decoding has begun. Nothing changes if it is unknown.
  ///
  /// - Parameter isDecoded: Returns whether CloudKit decodes a key of the top level.
  /// - Throws: `CocoaError.coderReadCorrupt` for damage on which Foundation would end the process.
  func returnErrors(of isDecoded: (String) -> Bool) throws {
    guard let unarchiver = self as? NSKeyedUnarchiver, let hasBegun = unarchiver.hasBegunDecoding else { return }
    if !hasBegun { unarchiver.decodingFailurePolicy = .setErrorAndReturn }
    guard ArchiveCheck.passes(unarchiver, isDecoded) else { throw CocoaError(.coderReadCorrupt) }
  }
}
