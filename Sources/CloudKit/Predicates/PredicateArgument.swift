internal import Foundation

/// Turns the arguments of a predicate's format into values and names.
enum PredicateArgument {
  /// A field's name, checked: CloudKit's names are a letter, then letters, digits and underscores.
  static func fieldName(_ argument: Any) throws(PredicateFailure) -> String {
    guard let name = argument as? String ?? (argument as? NSString).map({ String(describing: $0) }) else {
      throw PredicateFailure(message: "a field's name is no text")
    }
    if WireFieldName.system[name] != nil { return name }
    let isName = name.first.map { $0.isASCII && $0.isLetter } ?? false
    guard isName, name.utf8.allSatisfy({ $0 == UInt8(ascii: "_") || Character(Unicode.Scalar($0)).isLetterOrDigit })
    else {
      throw PredicateFailure(message: "'\(name)' is no field name")
    }
    return name
  }

  /// A value; nil for the null value.
  static func value(_ argument: Any) throws(PredicateFailure) -> StoredField? {
    let mirror = Mirror(reflecting: argument)
    if mirror.displayStyle == .optional {
      guard let some = mirror.children.first else { return nil }
      return try value(some.value)
    }
    switch argument {
    case is NSNull: return nil
    case let record as CKRecord: return StoredField(CKReference(record: record, action: .none))
    case let recordID as CKRecordID: return StoredField(CKReference(recordID: recordID, action: .none))
    case let set as NSSet: return try list(set.allObjects)
    case let array as NSArray: return try list(array.map { $0 })
    case let array as [Any]: return try list(array)
    case let value as any CKRecordValueProtocol: return StoredField(value)
    default:
      if mirror.displayStyle == .set { return try list(mirror.children.map(\.value)) }
      throw PredicateFailure(message: "no field is compared with a \(type(of: argument))")
    }
  }

  private static func list(_ elements: [Any]) throws(PredicateFailure) -> StoredField {
    var objects: [NSObject] = []
    for element in elements {
      guard let field = try value(element) else { throw PredicateFailure(message: "a list holds a null") }
      objects.append(field.object)
    }
    return StoredField(object: NSArray(array: objects))
  }
}

extension Character {
  fileprivate var isLetterOrDigit: Bool { isASCII && (isLetter || isNumber) }
}
