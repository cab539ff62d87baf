extension CKSchema {
  /// The indexes of one field. Without the right index, the service rejects queries on the field. (reference 5.1, 7.2)
  /// [L3]
  public struct Indexes: OptionSet, Sendable, Hashable {
    /// The indexes as bits.
    public let rawValue: UInt8

    /// Creates a set from its bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// For equality comparisons. [FW]
    public static let queryable = Indexes(rawValue: 1)
    /// For word searches. [FW]
    public static let searchable = Indexes(rawValue: 2)
    /// For range comparisons and sorting. [FW]
    public static let sortable = Indexes(rawValue: 4)

    static let named: [(keyword: String, index: Indexes)] = [
      ("QUERYABLE", .queryable), ("SEARCHABLE", .searchable), ("SORTABLE", .sortable),
    ]

    /// The keywords, in the order in which the service exports them. [C]
    public var keywords: [String] { Self.named.filter { contains($0.index) }.map(\.keyword) }

    /// Returns all indexes that a field of the type can have. Strings have all three; numbers, timestamps and bytes
    /// have all but SEARCHABLE, as exported schemas show [C]. Encrypted values and assets have none [FW]. References
    /// and lists have QUERYABLE, and lists of strings also SEARCHABLE [E].
    package static func fitting(_ type: FieldType) -> Indexes {
      if type.isEncrypted || type.scalar == .asset { return [] }
      if type.isList { return type.scalar == .string ? [.queryable, .searchable] : .queryable }
      switch type.scalar {
      case .string: return [.queryable, .searchable, .sortable]
      case .int64, .double, .timestamp, .bytes: return [.queryable, .sortable]
      case .reference: return .queryable
      // Sorting by distance uses the same index as NEAR. [E]
      case .location: return [.queryable, .sortable]
      case .asset: return []
      }
    }

    /// Whether a schema may declare these indexes for a type. Only impossible combinations are rejected, so that every
    /// export of the real service is accepted; what else it rejects is unknown. [E]
    func mayIndex(_ type: FieldType) -> Bool {
      if type.isEncrypted || type.scalar == .asset { return isEmpty }
      return !contains(.searchable) || type.scalar == .string
    }
  }
}
