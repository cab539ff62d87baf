@_spi(Reflection) internal import Swift

extension CKRecordModel where Self: Encodable {
  /// Returns whether the model leads to a cycle: models that refer back to themselves, directly or through others. A
  /// model with several referrers is not a cycle. Links that are not loaded are followed to their identity only.
  ///
  /// - Throws: `CKModelError` for a value that a record cannot store.
  public func hasCycle() throws(CKModelError) -> Bool {
    try ModelGraph([self], isWhole: true, CKRecordEncoder(zoneID: Self.databaseScope.zoneIDForModels)).hasCycle
  }
}

extension CKRecordModel {
  /// Returns whether the type leads to a cycle by stored properties that are models or links, optional or in lists.
  /// `CKRecord.Reference` has no type to follow.
  public static func hasCycle() -> Bool {
    GraphWalk { (model: ModelType) in model.targets.map { ($0, $0) } }.hasCycle(from: [ModelType(type: self)])
  }
}

/// The type of a model, compared by identity.
struct ModelType: Hashable {
  let type: any CKRecordModel.Type

  static func == (left: Self, right: Self) -> Bool { left.type == right.type }

  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(type)) }

  /// The types of the models that its stored properties refer to.
  ///
  /// It asks the metadata that `Mirror` uses, because there is no model to look into.
  var targets: [ModelType] {
    var targets: [ModelType] = []
    let isClass = type is AnyClass
    _forEachField(of: type, options: isClass ? _EachFieldOptions(rawValue: 1) : []) { _, _, field, _ in
      if let target = ModelInField.target(field) { targets.append(ModelType(type: target)) }
      return true
    }
    return targets
  }
}
