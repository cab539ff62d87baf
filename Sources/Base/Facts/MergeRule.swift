/// The way in which concurrent changes of one field are merged.
///
/// A rule is declared with the model (`CKRecordModel.mergeRules`) or on the engine, and applies before the conflict
/// policy. A value that does not fit the rule, such as a text under `elements`, is merged as `value`.
public enum MergeRule: String, Hashable, Sendable, CaseIterable, Codable {
  /// One of the two values; the conflict policy decides which. The default.
  case value
  /// A list used as a set: it keeps all elements that either side added and none that either side removed. Lists of
  /// assets are merged as values.
  ///
  /// Old elements keep their order, new ones follow in the order of their bytes, without duplicates. A list without
  /// elements becomes no value.
  case elements
}
