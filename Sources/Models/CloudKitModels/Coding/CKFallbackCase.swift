/// An enum that decodes an unknown raw value as a fallback case, instead of failing. Older versions of a program can
/// then read what newer versions wrote.
///
/// ```swift
/// enum Priority: String, CKFallbackCase, CaseIterable { case normal, low, high }
/// ```
///
/// The fallback applies to raw values only: a field of another type is still an error, and a missing one is nil or an
/// error. It also applies in lists and nested values. The raw value can be a `String`, an integer or a floating-point
/// number.
///
/// A model that is read with the fallback and saved as a whole stores the fallback. To keep the unknown value, save
/// only what was edited, with `save(_:changedFrom:in:)`.
public protocol CKFallbackCase: RawRepresentable, Codable {
  /// The value for raw values that this version does not know. The default for `CaseIterable` types is their first
  /// case.
  static var fallbackCase: Self { get }
}

extension CKFallbackCase where Self: CaseIterable {
  /// The first case.
  public static var fallbackCase: Self { allCases[allCases.startIndex] }
}

extension CKFallbackCase where RawValue: Decodable {
  fileprivate static func decoded(from decoder: any Decoder) throws -> Self {
    Self(rawValue: try decoder.singleValueContainer().decode(RawValue.self)) ?? fallbackCase
  }
}

// The standard library has an initializer for each of these types. Only one for the same type takes precedence over it.

extension CKFallbackCase where RawValue == String {
  /// Decodes the raw value; an unknown one as the fallback case.
  public init(from decoder: any Decoder) throws { self = try .decoded(from: decoder) }
}

extension CKFallbackCase where RawValue == Int {
  /// Decodes the raw value; an unknown one as the fallback case.
  public init(from decoder: any Decoder) throws { self = try .decoded(from: decoder) }
}

extension CKFallbackCase where RawValue == Int8 {
  /// Decodes the raw value; an unknown one as the fallback case.
  public init(from decoder: any Decoder) throws { self = try .decoded(from: decoder) }
}

extension CKFallbackCase where RawValue == Int16 {
  /// Decodes the raw value; an unknown one as the fallback case.
  public init(from decoder: any Decoder) throws { self = try .decoded(from: decoder) }
}

extension CKFallbackCase where RawValue == Int32 {
  /// Decodes the raw value; an unknown one as the fallback case.
  public init(from decoder: any Decoder) throws { self = try .decoded(from: decoder) }
}

extension CKFallbackCase where RawValue == Int64 {
  /// Decodes the raw value; an unknown one as the fallback case.
  public init(from decoder: any Decoder) throws { self = try .decoded(from: decoder) }
}

extension CKFallbackCase where RawValue == UInt {
  /// Decodes the raw value; an unknown one as the fallback case.
  public init(from decoder: any Decoder) throws { self = try .decoded(from: decoder) }
}

extension CKFallbackCase where RawValue == UInt8 {
  /// Decodes the raw value; an unknown one as the fallback case.
  public init(from decoder: any Decoder) throws { self = try .decoded(from: decoder) }
}

extension CKFallbackCase where RawValue == UInt16 {
  /// Decodes the raw value; an unknown one as the fallback case.
  public init(from decoder: any Decoder) throws { self = try .decoded(from: decoder) }
}

extension CKFallbackCase where RawValue == UInt32 {
  /// Decodes the raw value; an unknown one as the fallback case.
  public init(from decoder: any Decoder) throws { self = try .decoded(from: decoder) }
}

extension CKFallbackCase where RawValue == UInt64 {
  /// Decodes the raw value; an unknown one as the fallback case.
  public init(from decoder: any Decoder) throws { self = try .decoded(from: decoder) }
}

extension CKFallbackCase where RawValue == Double {
  /// Decodes the raw value; an unknown one as the fallback case.
  public init(from decoder: any Decoder) throws { self = try .decoded(from: decoder) }
}

extension CKFallbackCase where RawValue == Float {
  /// Decodes the raw value; an unknown one as the fallback case.
  public init(from decoder: any Decoder) throws { self = try .decoded(from: decoder) }
}
