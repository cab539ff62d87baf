internal import CloudKit
internal import Foundation

/// Decodes models with the models that they refer to, as far as those are loaded, and notes what is missing.
final class LinkResolver {
  /// A record to decode as a type. Records are kept by both, because some are fetched with the fields of one type only.
  struct Target: Hashable {
    let id: CKRecord.ID
    let model: ModelType

    init(id: CKRecord.ID, type: any CKRecordModel.Type) { (self.id, model) = (id, ModelType(type: type)) }
  }

  private struct Decoded: Hashable {
    let target: Target
    let depthLeft: Int
  }

  private let depth: Int
  /// The records that can be decoded as targets.
  var records: [Target: CKRecord] = [:]
  /// The records that the server does not have.
  var absent: Set<CKRecord.ID> = []
  /// The records that could not be fetched.
  var failures: [CKRecord.ID: any Error] = [:]
  /// Models that are used as they are.
  private let models: [CKRecord.ID: any CKRecordModel]

  /// The targets that were not loaded.
  private(set) var missing: Set<Target> = []
  private(set) var cycles: [[CKRecord.ID]] = []
  private var seenCycles: Set<[CKRecord.ID]> = []
  /// The records that are being decoded, each a target of the one before.
  private var path: [CKRecord.ID] = []
  /// The first place on the path that a reference of the record being decoded leads back to.
  private var lowestCut = Int.max
  /// The results in which no reference was cut, each with the IDs of its records.
  private var decoded: [Decoded: (model: Any, ids: Set<CKRecord.ID>)] = [:]
  /// The IDs of the records that the record being decoded contains.
  private var contained: Set<CKRecord.ID> = []
  /// The number of models that were decoded.
  private var count = 0

  /// The largest number of references in a row: each takes some of the stack.
  private static let deepest = 100
  /// The largest number of models of one load. Without a depth, models that are densely linked are decoded once for
  /// each way that leads to them.
  private static let most = 1_000_000

  init(following depth: LinkDepth = .none, models: [CKRecord.ID: any CKRecordModel] = [:]) {
    (self.depth, self.models) = (depth.limit, models)
  }

  /// Forgets what earlier decoding found, because records were added.
  func restart() { (missing, cycles, seenCycles, decoded, count) = ([], [], [], [:], 0) }

  /// Whether a target is loaded, or could not be, and is not on the path. Notes one that is missing within the depth.
  func isLoaded(_ id: CKRecord.ID, as type: any CKRecordModel.Type) -> Bool {
    if models[id] != nil { return true }
    guard path.count <= depth else { return false }
    if let start = path.firstIndex(of: id) {
      lowestCut = min(lowestCut, start)
      note(cycle: Array(path[start...]))
      return false
    }
    let target = Target(id: id, type: type)
    if records[target] != nil || failures[id] != nil { return true }
    if !absent.contains(id) { missing.insert(target) }
    return false
  }

  static let notLoaded = "The model that it refers to is not loaded. Load with a depth, or declare a Link."

  /// The reason why a model that is required is not there.
  func reasonLacking(_ id: CKRecord.ID) -> String {
    if path.contains(id) { return "It refers back to a record that leads to it, which ends a load. Declare a Link." }
    return absent.contains(id) ? "The record that it refers to does not exist." : Self.notLoaded
  }

  /// Returns the model of a target; nil if it is not loaded.
  ///
  /// - Throws: `ConversionFailure` if it could not be fetched; `CKModelError` if its record does not match.
  func model<Model: CKRecordModel>(_ id: CKRecord.ID, as type: Model.Type) throws -> Model? {
    guard isLoaded(id, as: type) else { return nil }
    if let model = models[id] as? Model { return model }
    if let error = failures[id] {
      throw ConversionFailure(reason: "Its target cannot be fetched. \(error.localizedDescription)", error)
    }
    guard let record = records[Target(id: id, type: type)],
      let decodable = type as? any (CKRecordModel & Decodable).Type
    else { return nil }
    return try decode(decodable, from: record) as? Model
  }

  /// Decodes a record, with its targets.
  func decode<Model: CKRecordModel & Decodable>(_ type: Model.Type, from record: CKRecord) throws -> Model {
    let index = path.count
    let key = Decoded(
      target: Target(id: record.recordID, type: type),
      depthLeft: depth == .max ? depth : depth - index
    )
    // A record on the path would be a cycle here.
    if let (model, ids) = decoded[key], let model = model as? Model, ids.isDisjoint(with: path) {
      contained.formUnion(ids)
      return model
    }
    try Task.checkCancellation()
    count += 1
    guard index < Self.deepest, count <= Self.most else {
      let reason = "Too many references lead from one model to others. Load with a depth."
      throw DecodingError.dataCorrupted(.init([], ConversionFailure(reason: reason)))
    }
    let (cutBefore, outer) = (lowestCut, contained)
    (lowestCut, contained) = (.max, [record.recordID])
    path.append(record.recordID)
    defer {
      path.removeLast()
      // Nothing contains the record that a load begins with.
      if path.isEmpty { contained = [] } else { contained.formUnion(outer) }
      // A cut at this record or below does not concern those above.
      lowestCut = min(cutBefore, lowestCut < index ? lowestCut : .max)
    }
    let model = try CKRecordDecoder().decode(type, from: record, references: self)
    if lowestCut == .max { decoded[key] = (model, contained) }
    return model
  }

  /// Notes a cycle once, wherever decoding entered it.
  private func note(cycle: [CKRecord.ID]) {
    guard let first = cycle.indices.min(by: { cycle[$0].recordName < cycle[$1].recordName }) else { return }
    let cycle = Array(cycle[first...] + cycle[..<first])
    if seenCycles.insert(cycle).inserted { cycles.append(cycle) }
  }
}

extension FieldDecoder {
  /// Returns the model that the field's reference refers to; nil if it is not loaded.
  func loadedModel<Model: CKRecordModel>(_ type: Model.Type) throws -> Model? {
    guard let reference = field as? CKReference else { return nil }
    do {
      return try references?.model(reference.recordID, as: type)
    } catch let failure as ConversionFailure {
      throw DecodingError.dataCorrupted(.init(codingPath, failure))
    }
  }

  /// Whether the field refers to a model that is not loaded.
  func lacksModel(_ type: Any.Type) -> Bool {
    guard let reference = field as? CKReference, let model = ModelInField.model(type) else { return false }
    return references?.isLoaded(reference.recordID, as: model) != true
  }

  /// Decodes a model, or an optional or list of models, from references; returns nil for other types and fields.
  func decodeModels<Value: Decodable>(_ type: Value.Type) throws -> Value? {
    if let reference = field as? CKReference {
      guard let model = ModelInField.model(type) else { return nil }
      if let value = try loadedModel(model) as? Value { return value }
      if let optional = type as? any OptionalValue.Type { return optional.nothing as? Value }
      let reason = references?.reasonLacking(reference.recordID) ?? LinkResolver.notLoaded
      throw DecodingError.valueNotFound(type, .init(codingPath, ConversionFailure(reason: reason)))
    }
    // The loaded ones of a list.
    guard let list = field as? NSArray, list.firstObject is CKReference,
      let element = (type as? any FieldList.Type)?.elementType, let model = ModelInField.model(element)
    else { return nil }
    let loaded = list.filter { element in
      (element as? CKReference).map { references?.isLoaded($0.recordID, as: model) == true } ?? true
    }
    let content = StoredField(NSArray(array: loaded))
    return try Value(from: FieldDecoder(content, codingPath: codingPath, references: references))
  }
}
