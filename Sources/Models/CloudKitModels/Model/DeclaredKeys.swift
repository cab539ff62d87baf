internal import CloudKit
internal import Facts

/// Checks the coding keys that a type's declarations name against those of its properties.
///
/// A misspelt key has no effect of its own: a system value is never filled, and an asset is stored as bytes.
struct DeclaredKeys {
  private let type: any CKRecordModel.Type
  /// Whether the type declares any keys.
  private let hasAny: Bool
  /// The types of the coding keys that the model's coding used: several for a class with a superclass.
  private var keyTypes: [any CodingKey.Type] = []

  init(of type: any CKRecordModel.Type) {
    self.type = type
    hasAny =
      !(type.systemKeys.isEmpty && type.assetKeys.isEmpty && type.referenceActions.isEmpty && type.mergeRules.isEmpty)
  }

  /// Notes the coding keys of a container that the model's coding asked for.
  mutating func note(_ keys: any CodingKey.Type) {
    if hasAny { keyTypes.append(keys) }
  }

  /// Refuses a type with a key that no property has. A model that is converted by hand and asks for no container is not
  /// checked.
  ///
  /// - Parameter names: The names of the type's coding keys or properties, as far as they are known.
  /// - Throws: `CKModelError` with the cause `unknownKey`.
  func check(among names: () -> [String]) throws(CKModelError) {
    guard !keyTypes.isEmpty else { return }
    let declarations = [
      ("systemKeys", Array(type.systemKeys.keys)), ("assetKeys", Array(type.assetKeys)),
      ("referenceActions", Array(type.referenceActions.keys)), ("mergeRules", Array(type.mergeRules.keys)),
    ]
    for (declaration, keys) in declarations {
      guard let key = keys.filter({ !isKnown($0) }).min() else { continue }
      let reason = Words.noProperty(key, of: declaration, among: names().filter(isKnown))
      throw CKModelError("\(type)", .unknownKey, reason)
    }
  }

  private func isKnown(_ key: String) -> Bool { keyTypes.contains { $0.init(stringValue: key) != nil } }
}
