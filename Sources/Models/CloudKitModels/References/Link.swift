public import CloudKit

/// A reference to the record of another model: its identity, and the model if it is loaded.
///
/// ```swift
/// struct Employee: Codable, Identifiable, CKRecordModel {
///   var id = UUID()
///   var name: String
///   var boss: Link<Employee>?
///   var projects: [Link<Project>] = []
/// }
/// ```
///
/// A link knows the identity of its target, loaded or not. So nil clears the field, and a list is written exactly as it
/// is. A property that is a model itself cannot distinguish "none" from "not loaded".
///
/// Two links are equal if they have the same record name, because a reference stays in the zone of its record, and a
/// link that was made from a model has no zone yet. To compare links of records in several zones, compare ``recordID``.
public struct Link<Model: CKRecordModel> {
  // In a box, so that a struct can refer to its own type.
  fileprivate indirect enum Target {
    case model(Model)
  }

  /// The record name of the target.
  public let recordName: String
  /// Whether the target came from the server. Saving does not look it up then.
  public let isSaved: Bool
  /// The reference of the record from which the link was read, or to the identity that it was made with.
  let reference: CKRecord.Reference?
  private let target: Target?

  /// Refers to the record of a model. If the server does not have it, saving the link saves the model first.
  public init(_ model: Model) {
    (recordName, isSaved, reference, target) = (model.recordName, false, nil, .model(model))
  }

  /// Refers to a record without its model.
  public init(to recordID: CKRecord.ID) {
    self.init(CKRecord.Reference(recordID: recordID, action: .none), isSaved: false, model: nil)
  }

  init(_ reference: CKRecord.Reference, isSaved: Bool, model: Model?) {
    (recordName, self.isSaved, self.reference) = (reference.recordID.recordName, isSaved, reference)
    target = model.map { Target.model($0) }
  }

  private init(named recordName: String) {
    (self.recordName, isSaved, reference, target) = (recordName, false, nil, nil)
  }

  /// The model of the target; nil if it is not loaded.
  public var model: Model? { if case .model(let model)? = target { model } else { nil } }
  /// Whether the model of the target is loaded.
  public var isLoaded: Bool { target != nil }
  /// The ID of the target; nil for a link that was made from a model, whose zone is decided by saving.
  public var recordID: CKRecord.ID? { reference?.recordID }
}

extension Link: Sendable where Model: Sendable {}
extension Link.Target: Sendable where Model: Sendable {}

extension Link: Hashable {
  /// Whether both have the same record name.
  public static func == (left: Self, right: Self) -> Bool { left.recordName == right.recordName }

  /// Hashes the record name.
  public func hash(into hasher: inout Hasher) { hasher.combine(recordName) }
}

/// A link in a field of a record is a REFERENCE. Other coders, such as those for JSON, code its identity only.
extension Link: Codable {
  private enum CodingKeys: String, CodingKey {
    case recordName, zoneName, ownerName, deletesWithTarget
  }

  /// Encodes the identity.
  public func encode(to encoder: any Encoder) throws {
    if let reference { return try reference.encode(to: encoder) }
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(recordName, forKey: .recordName)
  }

  /// Decodes the identity, and the model if a load of models has it.
  public init(from decoder: any Decoder) throws {
    if let field = decoder as? FieldDecoder, let reference = field.field as? CKReference {
      self.init(reference, isSaved: true, model: try field.loadedModel(Model.self))
      return
    }
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let name = try container.decode(String.self, forKey: .recordName)
    guard container.contains(.zoneName) else {
      self.init(named: name)
      return
    }
    self.init(try CKReference(from: decoder), isSaved: false, model: nil)
  }
}

/// A link to a model of any type.
protocol AnyLink {
  static var modelType: any CKRecordModel.Type { get }
  var recordName: String { get }
  var isSaved: Bool { get }
  var reference: CKRecord.Reference? { get }
  var anyModel: (any CKRecordModel)? { get }
}

extension Link: AnyLink {
  static var modelType: any CKRecordModel.Type { Model.self }
  var anyModel: (any CKRecordModel)? { model }
}
