public import CloudKit
import Foundation

/// The error of encoding a model as a record, or decoding it from one.
///
/// Its texts name the model and the field and say what is wrong. They contain no value, which may be private, except
/// keys of a dictionary inside the field. ``underlying`` is the standard library's error, whose texts may contain one.
public struct CKModelError: LocalizedError, CustomStringConvertible, CustomDebugStringConvertible, Sendable {
  /// The kinds of errors.
  public enum Cause: Hashable, Sendable {
    /// The record or a nested value lacks a value that the model needs.
    case missingValue
    /// The field has another type in the record, or on the server, than in the model.
    case wrongType
    /// The value is not valid for its type, such as a number that does not fit.
    case invalidValue
    /// A record cannot store the value.
    case unsupportedValue
    /// The record would be larger than 1 MB.
    case tooLarge
    /// The file of an asset is missing, or has not been downloaded: the code of the `CKError` in
    /// ``CKModelError/underlying``.
    case asset(CKError.Code)
    /// The record has another type than the model.
    case otherRecordType
    /// The archive or the change tag is damaged, or that of another record.
    case systemValue
    /// The call is for another database than that of the type's models, ``CKRecordModel/databaseScope``.
    case otherDatabase
    /// A declaration of the type, such as ``CKRecordModel/systemKeys``, has a key that no property has.
    case unknownKey
    /// A reference leads to another zone.
    case otherZone
    /// A model that this one refers to could not be fetched, for the reason in the `CKError` of
    /// ``CKModelError/underlying``.
    case targetNotFetched
    /// A model that this one refers to could not be saved, so this one was not saved either.
    case targetNotSaved
    /// The model was saved, but one that it refers to was saved without a reference that closes a cycle.
    case targetIncomplete
    /// The model as a whole cannot be written, such as one without a record name.
    case invalidModel
    /// The model's own coding threw the error in ``CKModelError/underlying``.
    case ownCoding
  }

  /// The kind of the error.
  public let cause: Cause
  /// The name of the model's type.
  public let model: String
  /// The path of the field, such as `places[2].name`; nil if the error concerns the whole model.
  public let field: String?
  /// The record that was decoded, or the target that could not be saved; nil for an error of encoding.
  public internal(set) var recordID: CKRecord.ID?
  /// The name of the type that the model declares for the field, if it is known and the field does not match it.
  public let expected: String?
  /// The `EncodingError` or `DecodingError`, an error that the model's own coding threw, or the reason why the target
  /// of a reference was not saved.
  ///
  /// The context of a `DecodingError` has `CKError.assetNotAvailable` as its underlying error if an asset must be
  /// downloaded before its bytes can be decoded.
  public let underlying: any Error

  private let reason: String
  /// The step that failed, as in "encoded", "saved" or "used".
  private let step: String

  /// Wraps an error of encoding.
  package init(_ model: Any.Type, encoding error: any Error) { self.init("\(model)", error, isEncoding: true) }

  /// Refuses to encode a whole model.
  ///
  /// - Parameter reason: A sentence without values of the model.
  package init(_ model: Any.Type, encoding value: Any, _ reason: String) {
    let context = EncodingError.Context([], ConversionFailure(reason: reason))
    self.init(model, encoding: EncodingError.invalidValue(value, context))
  }

  /// Refuses a use of any model of a type.
  init(_ model: String, _ cause: Cause, _ reason: String) {
    (self.model, field, expected, self.reason, step, self.cause) = (model, nil, nil, reason, "used", cause)
    underlying = EncodingError.invalidValue(model, .init([], ConversionFailure(reason: reason)))
  }

  /// Refuses a field of a model that is known by its record type.
  ///
  /// - Parameter reason: A sentence without values of the model.
  package init(_ recordType: String, field: String, _ reason: String, _ cause: Cause = .wrongType) {
    (model, self.field, expected, self.reason, step) = (recordType, field, nil, reason, "encoded")
    self.cause = cause
    underlying = EncodingError.invalidValue(
      recordType,
      .init([FieldCodingKey(field)], ConversionFailure(reason: reason))
    )
  }

  /// Refuses to save a record, because the target of a reference could not be saved.
  ///
  /// - Parameter isSaved: Whether the record was saved by then.
  init(_ recordType: String, field: String, target: CKRecord.ID, failed error: any Error, isSaved: Bool) {
    (model, self.field, expected, step) = (recordType, field, nil, "saved")
    cause = isSaved ? .targetIncomplete : .targetNotSaved
    reason = "The record that it refers to could not be saved. \(error.localizedDescription)"
    (recordID, underlying) = (target, error)
  }

  /// Wraps an error of decoding.
  package init(_ model: Any.Type, decoding error: any Error) { self.init("\(model)", error, isEncoding: false) }

  /// Wraps an error of decoding a record's field.
  init(_ recordType: String, decoding error: any Error) { self.init(recordType, error, isEncoding: false) }

  private init(_ model: String, _ error: any Error, isEncoding: Bool) {
    let facts = CodingFailure(error)
    self.model = model
    field = facts.path.isEmpty ? nil : facts.path.fieldPath
    expected = facts.expected.map { String(describing: $0) }
    underlying = error
    reason = facts.reason
    cause = facts.cause
    step = isEncoding ? "encoded" : "decoded"
  }

  /// A sentence that names the model, the field and what is wrong.
  public var errorDescription: String? {
    let subject = field.map { "Field '\($0)' of model '\(model)'" } ?? "Model '\(model)'"
    return "\(subject) cannot be \(step): \(reason)"
  }

  /// The same sentence, so that a printed error contains no value.
  public var description: String { errorDescription ?? reason }
  /// The same sentence.
  public var debugDescription: String { description }

  /// The reason, without the model and the field.
  public var failureReason: String? { reason }
}

/// The facts in an error of the standard library's coding.
private struct CodingFailure {
  var path: [any CodingKey] = []
  var expected: Any.Type?
  var reason: String
  let cause: CKModelError.Cause

  init(_ error: any Error) {
    cause = Self.cause(of: error)
    switch error {
    case EncodingError.invalidValue(_, let context):
      path = context.codingPath
      reason = Self.reason(context.underlyingError) ?? "The value cannot be encoded."
    case DecodingError.keyNotFound(let key, let context):
      let ours = Self.reason(context.underlyingError)
      // The standard library's path ends before the key.
      path = context.codingPath + (ours == nil ? [key] : [])
      reason = ours ?? "The value is missing."
    case DecodingError.valueNotFound(let type, let context):
      (path, expected) = (context.codingPath, type)
      reason = Self.reason(context.underlyingError) ?? "The value is missing."
    case DecodingError.typeMismatch(let type, let context):
      (path, expected) = (context.codingPath, type)
      reason = Self.reason(context.underlyingError) ?? "The value must have type \(type)."
    case DecodingError.dataCorrupted(let context):
      path = context.codingPath
      reason = Self.reason(context.underlyingError) ?? "The value is not valid for its type."
    default:
      reason = "The model's own coding failed with \(type(of: error))."
    }
  }

  private static func cause(of error: any Error) -> CKModelError.Cause {
    switch error {
    case EncodingError.invalidValue(let value, let context):
      if let code = (context.underlyingError as? CKError)?.code {
        return code == .limitExceeded ? .tooLarge : .asset(code)
      }
      if value is CKSystemValue { return .systemValue }
      return context.codingPath.isEmpty ? .invalidModel : .unsupportedValue
    case DecodingError.keyNotFound, DecodingError.valueNotFound: return .missingValue
    case DecodingError.typeMismatch(let type, let context) where context.codingPath.isEmpty:
      return type is CKRecord.Type ? .invalidModel : .otherRecordType
    case DecodingError.typeMismatch: return .wrongType
    case DecodingError.dataCorrupted(let context):
      guard let code = (context.underlyingError as? CKError)?.code else { return .invalidValue }
      return [.assetNotAvailable, .assetFileNotFound].contains(code) ? .asset(code) : .targetNotFetched
    default: return .ownCoding
    }
  }

  /// The reason, if the error is from this module. Other reasons may contain a value.
  private static func reason(_ error: (any Error)?) -> String? {
    switch error {
    case let failure as ConversionFailure: failure.reason
    case let error as CKError: error.localizedDescription
    default: nil
    }
  }
}

extension [any CodingKey] {
  fileprivate var fieldPath: String {
    reduce(into: "") { path, key in
      if let index = key.intValue {
        path += "[\(index)]"
      } else {
        path += path.isEmpty ? key.stringValue : ".\(key.stringValue)"
      }
    }
  }
}

extension EncodingError.Context {
  /// Makes a context with a reason of this module.
  init(_ path: [any CodingKey], _ failure: ConversionFailure) {
    self.init(codingPath: path, debugDescription: failure.reason, underlyingError: failure.cause ?? failure)
  }
}

extension DecodingError.Context {
  /// Makes a context with a reason of this module.
  init(_ path: [any CodingKey], _ failure: ConversionFailure) {
    self.init(codingPath: path, debugDescription: failure.reason, underlyingError: failure.cause ?? failure)
  }
}
