internal import CloudKit
internal import Foundation

/// Collects the references of a model while its fields are encoded.
///
/// A plain property (a model, an optional or a list of models) cannot say that its target was not loaded. So nil leaves
/// its field alone, and a list only adds to it, unless the save names the field in `replacing`.
final class ModelReferences {
  /// A model that a reference refers to.
  struct Target {
    let id: CKRecord.ID
    let model: any CKRecordModel
    /// Whether the server is known to have it.
    let isSaved: Bool
  }

  private(set) var references: [EncodedModel.Reference] = []
  private(set) var targets: [Target] = []
  /// The fields whose list is added to that of the server.
  private(set) var adding: Set<String> = []
  private let replacing: Set<String>
  private let actions: CKReferenceActions
  /// The zone of the model's record. Only the first reference without a zone of its own needs it.
  private lazy var zoneID = Result { try findZone() }
  private let findZone: () throws -> CKRecordZone.ID
  /// Whether the field that is being encoded is a plain property.
  private var isPlain = false

  init<Model: CKRecordModel>(of model: Model, _ encoder: CKRecordEncoder, replacing: Set<String>) {
    self.replacing = replacing
    actions = Model.referenceActions
    findZone = { try encoder.place(of: model).recordID.zoneID }
  }

  /// Returns the field value for a link or a model.
  func reference(to link: any AnyLink, for key: String) throws -> CKRecord.Reference {
    let known = try link.reference.map { $0.recordID.zoneID == .default ? $0.placed(in: try zoneID.get()) : $0 }
    let id = try known?.recordID ?? place(of: link.anyModel, named: link.recordName)
    let action = actions[key]
    let reference = action == nil ? known : nil
    return add(reference ?? CKRecord.Reference(recordID: id, action: action ?? .none), key, link.anyModel, link.isSaved)
  }

  func reference(to model: any CKRecordModel, for key: String) throws -> CKRecord.Reference {
    isPlain = true
    let id = try place(of: model, named: model.recordName)
    return add(CKRecord.Reference(recordID: id, action: actions[key] ?? .none), key, model, false)
  }

  private func place(of model: (any CKRecordModel)?, named name: String) throws -> CKRecord.ID {
    let zoneID = try self.zoneID.get()
    guard !name.isEmpty else {
      throw ConversionFailure(reason: "The recordName of the model that it refers to is empty.")
    }
    return try model.map { try CKRecordEncoder(zoneID: zoneID).place(of: $0).recordID }
      ?? CKRecord.ID(recordName: name, zoneID: zoneID)
  }

  private func add(
    _ reference: CKRecord.Reference,
    _ key: String,
    _ model: (any CKRecordModel)?,
    _ isSaved: Bool
  ) -> CKRecord.Reference {
    references.append(EncodedModel.Reference(key: key, target: reference.recordID))
    if let model { targets.append(Target(id: reference.recordID, model: model, isSaved: isSaved)) }
    return reference
  }

  /// Begins a field or a system value.
  func begin() { isPlain = false }

  /// Notes that a plain property has no value.
  func notePlain() { isPlain = true }

  /// Returns whether a field is written.
  func writes(_ field: (any CKRecordValue)?, for key: String) -> Bool {
    guard isPlain, !replacing.contains(key) else { return true }
    if field is NSArray { adding.insert(key) }
    return field != nil
  }
}
