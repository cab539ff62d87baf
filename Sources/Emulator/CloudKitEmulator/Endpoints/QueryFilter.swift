import CloudKitSchema
import Foundation
import JSONText

/// One filter of a query, checked against the schema. All filters must match; a null or missing field matches none by
/// default. [E]
struct QueryFilter {
  /// [D], [JS] for LIST_CONTAINS_ANY, [C] for CONTAINS_ANY.
  enum Comparator: String {
    case equals = "EQUALS"
    case lessThan = "LESS_THAN"
    case lessThanOrEquals = "LESS_THAN_OR_EQUALS"
    case greaterThan = "GREATER_THAN"
    case greaterThanOrEquals = "GREATER_THAN_OR_EQUALS"
    case isIn = "IN"
    case near = "NEAR"
    case beginsWith = "BEGINS_WITH"
    case containsAllTokens = "CONTAINS_ALL_TOKENS"
    case containsAnyTokens = "CONTAINS_ANY_TOKENS"
    case listContains = "LIST_CONTAINS"
    case listContainsAll = "LIST_CONTAINS_ALL"
    case listContainsAny = "LIST_CONTAINS_ANY"
    case containsAny = "CONTAINS_ANY"
    case listMemberBeginsWith = "LIST_MEMBER_BEGINS_WITH"
  }

  let key: QueryField
  let comparator: Comparator
  /// Whether the filter has the negation of the comparator, whose name begins with `NOT_`.
  let isNegated: Bool
  let operand: EmulatorValue
  let distance: Double?
  /// Whether string comparisons ignore case. (Question 17)
  let ignoresCase: Bool
  private let matchesNull: Bool
  /// The operand's elements, prepared once for all records.
  private let elements: [EmulatorValue]
  private let tokens: Set<String>

  /// Decodes a filter.
  ///
  /// - Throws: `BAD_REQUEST` for an unknown comparator, an operand of the wrong type, or a field without the right
  ///   index.
  init(_ json: JSONObject, type: CKSchema.RecordType, assumptions: EmulatorAssumptions) throws(ServerError) {
    // The real service may ignore a filter that it cannot read and return everything [L3]; the emulator rejects it. [E]
    let name = json["comparator"]?.string ?? ""
    isNegated = name.hasPrefix("NOT_")
    guard let comparator = Comparator(rawValue: isNegated ? String(name.dropFirst(4)) : name),
      !isNegated || comparator.hasNegation
    else { throw .badRequest("Unknown comparator '\(name)'") }
    self.comparator = comparator
    let namesField = json["fieldName"] != nil || json["systemFieldName"] != nil
    if comparator.searchesTokens, !namesField {
      key = .wholeRecord(fields: type.searchedFields)
    } else {
      key = try QueryField(json)
    }
    operand = try FieldDecoding.operand(json["fieldValue"], needsListTag: comparator.takesList)
    distance = json["distance"]?.number ?? (comparator == .near ? assumptions.nearDistance : nil)
    ignoresCase = assumptions.comparesTextIgnoringCase
    matchesNull = assumptions.negationsMatchNull && isNegated
    if case .list(_, let values) = operand { elements = values } else { elements = [operand] }
    if case .string(let text) = operand { tokens = Self.tokens(text) } else { tokens = [] }
    switch key {
    case .system(let system): try checkOperand(CKSchema.FieldType(system.type))
    case .wholeRecord: try checkOperand(CKSchema.FieldType(.string))
    case .field(let name):
      if let field = type.fields[name]?.type {
        // The error was observed to name the types of the field and of the filter. [L3]
        guard !field.isEncrypted else {
          throw .badRequest("Field '\(name)' of type \(field.name) cannot be filtered with \(operandTypeName)")
        }
        try checkOperand(field)
      }
    }
    try key.require(comparator.index, of: type)
  }

  private var operandTypeName: String {
    guard case .list(let type, _) = operand else { return operand.scalarType?.rawValue ?? "" }
    return type.map { CKSchema.FieldType($0, isList: true).name } ?? "UNKNOWN_LIST"
  }

  private func checkOperand(_ field: CKSchema.FieldType) throws(ServerError) {
    let given: CKSchema.ValueType?
    if case .list(let element, _) = operand { given = element } else { given = operand.scalarType }
    // A record name is compared as a reference or as a string. [C]
    let isRecordNameAsText = field.scalar == .reference && given == .string
    guard given == nil || given == field.scalar || isRecordNameAsText,
      comparator.wantsListField == field.isList,
      comparator.accepts(field.scalar)
    else {
      let name = "\(isNegated ? "NOT_" : "")\(comparator.rawValue)"
      throw .badRequest("\(name) cannot compare field '\(key.name)' of type \(field.name) with \(operandTypeName)")
    }
  }

  func matches(_ record: StoredRecord) -> Bool {
    record.value(key).map { matches($0) != isNegated } ?? matchesNull
  }

  private func matches(_ value: EmulatorValue) -> Bool {
    switch comparator {
    case .equals: return areEqual(value, operand)
    case .lessThan: return sortKey(value) < sortKey(operand)
    case .lessThanOrEquals: return sortKey(value) <= sortKey(operand)
    case .greaterThan: return sortKey(value) > sortKey(operand)
    case .greaterThanOrEquals: return sortKey(value) >= sortKey(operand)
    case .isIn: return contains(elements, value)
    case .near:
      guard case .location(let place) = value, case .location(let center) = operand else { return false }
      return distance.map { place.distance(to: center) <= $0 } ?? true
    case .beginsWith: return begins(value)
    case .containsAllTokens: return tokens.isSubset(of: Self.tokens(text(value)))
    case .containsAnyTokens: return !tokens.isDisjoint(with: Self.tokens(text(value)))
    case .listContains, .listContainsAll: return elements.allSatisfy { contains(list(value), $0) }
    case .listContainsAny, .containsAny: return elements.contains { contains(list(value), $0) }
    // Matches any member; the documentation mentions only the first. [E]
    case .listMemberBeginsWith: return list(value).contains { begins($0) }
    }
  }

  private func contains(_ values: [EmulatorValue], _ value: EmulatorValue) -> Bool {
    values.contains { areEqual($0, value) }
  }

  private func list(_ value: EmulatorValue) -> [EmulatorValue] {
    if case .list(_, let elements) = value { elements } else { [] }
  }

  private func text(_ value: EmulatorValue) -> String {
    switch value {
    case .string(let text): text
    case .reference(let reference): reference.recordName
    default: ""
    }
  }

  private func begins(_ value: EmulatorValue) -> Bool {
    folded(text(value)).utf8.starts(with: folded(text(operand)).utf8)
  }

  private func folded(_ text: String) -> String { ignoresCase ? text.lowercased() : text }

  private func sortKey(_ value: EmulatorValue) -> SortKey {
    guard ignoresCase, case .string(let text) = value else { return value.sortKey }
    return .string(text.lowercased())
  }

  /// Compares strings byte by byte, because Swift's equality treats composed and decomposed letters as equal. [E]
  private func areEqual(_ left: EmulatorValue, _ right: EmulatorValue) -> Bool {
    switch (left, right) {
    case (.string(let left), .string(let right)):
      ignoresCase
        ? folded(left).utf8.elementsEqual(folded(right).utf8) : left == right && left.utf8.elementsEqual(right.utf8)
    case (.reference(let left), .reference(let right)): left.recordName == right.recordName
    case (.reference(let left), .string(let right)): left.recordName == right
    case (.string(let left), .reference(let right)): left == right.recordName
    default: left == right
    }
  }

  /// Splits a text into words, without regard to case and accents. [E]
  private static func tokens(_ text: String) -> Set<String> {
    let folded = text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
    return Set(folded.split { !$0.isLetter && !$0.isNumber }.map(String.init))
  }
}

extension QueryFilter.Comparator {
  /// Whether the operand must have a list type tag. [L3]
  var takesList: Bool { [.isIn, .listContainsAll, .listContainsAny, .containsAny].contains(self) }

  /// Whether the comparator matches words.
  var searchesTokens: Bool { self == .containsAllTokens || self == .containsAnyTokens }

  /// Whether the comparator applies to list fields.
  var wantsListField: Bool { rawValue.contains("LIST") || self == .containsAny }

  /// Whether there is a comparator with `NOT_` before the name.
  var hasNegation: Bool {
    [.equals, .isIn, .beginsWith, .listContains, .listContainsAll, .listContainsAny, .listMemberBeginsWith]
      .contains(self)
  }

  /// The index that the comparator needs; any one of them if there are several. (reference 5.1) [D] Which one
  /// BEGINS_WITH needs is unknown. [E]
  var index: CKSchema.Indexes {
    switch self {
    case .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals: .sortable
    case .beginsWith: [.queryable, .sortable]
    case .containsAllTokens, .containsAnyTokens: .searchable
    default: .queryable
    }
  }

  /// Whether the comparator may be used for the field's element type, by the table of comparators (reference 5.1). [D]
  func accepts(_ type: CKSchema.ValueType) -> Bool {
    switch self {
    case .near: type == .location
    case .beginsWith, .listMemberBeginsWith: type == .string || type == .reference
    case .containsAllTokens, .containsAnyTokens: type == .string
    case .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals:
      [.string, .int64, .double, .timestamp, .reference].contains(type)
    default: type != .location && type != .asset
    }
  }
}
