import ArgumentParser
import JSONText

/// The fields of a JSON object, each with its value.
///
/// Objects are made of their fields alone, so the help, the handbook and the tests know every field that is printed.
struct JSONFields<Value>: Sendable, ExpressibleByDictionaryLiteral {
  let shape: JSONShape
  private let make: @Sendable (Value) -> JSONObject

  private init(_ shape: JSONShape, _ make: @escaping @Sendable (Value) -> JSONObject) {
    (self.shape, self.make) = (shape, make)
  }

  init(dictionaryLiteral fields: (String, JSONField<Value>)...) {
    self.init(JSONShape(fields: fields.map { JSONShape.Field(name: $0.0, inner: $0.1.inner) })) { value in
      JSONObject(fields.map { ($0.0, $0.1.json(value)) })
    }
  }

  /// Returns the object of a value.
  func object(_ value: Value) -> JSONObject { make(value) }

  /// Returns these fields and others. A field of the same name replaces the earlier one.
  func adding(_ others: Self) -> Self {
    Self(shape.adding(others.shape)) { value in
      others.make(value).members.reduce(into: make(value)) { $0[$1.key] = $1.value }
    }
  }

  /// Returns the fields of a part as fields of the whole.
  func of<Whole>(_ part: @escaping @Sendable (Whole) -> Value) -> JSONFields<Whole> {
    JSONFields<Whole>(shape) { make(part($0)) }
  }

  /// Returns the fields of a part as fields of the whole. They are absent if there is no such part.
  func ifAny<Whole>(_ part: @escaping @Sendable (Whole) -> Value?) -> JSONFields<Whole> {
    JSONFields<Whole>(JSONShape(fields: shape.fields.map { .init(name: $0.name, inner: $0.inner, isAlways: false) })) {
      part($0).map(make) ?? JSONObject()
    }
  }
}

/// The names of the fields of a JSON object, with those of the objects inside.
struct JSONShape: Hashable, Sendable {
  struct Field: Hashable, Sendable {
    let name: String
    /// The fields of its object, or of the objects in its list.
    var inner: JSONShape?
    /// Whether every object has it.
    var isAlways = true
  }

  let fields: [Field]

  var names: [String] { fields.map(\.name) }

  func adding(_ others: JSONShape) -> JSONShape {
    let replaced = fields.map { field in
      guard let other = others.fields.first(where: { $0.name == field.name }) else { return field }
      return Field(name: field.name, inner: other.inner ?? field.inner, isAlways: field.isAlways || other.isAlways)
    }
    return JSONShape(fields: replaced + others.fields.filter { !names.contains($0.name) })
  }
}

/// The value of a field of a JSON object. A value that is unknown is null.
struct JSONField<Value>: Sendable {
  let inner: JSONShape?
  let json: @Sendable (Value) -> JSON

  private init(_ inner: JSONShape? = nil, _ json: @escaping @Sendable (Value) -> JSON) {
    (self.inner, self.json) = (inner, json)
  }

  static func value(_ json: @escaping @Sendable (Value) -> JSON) -> Self { Self(nil, json) }

  static func text(_ text: @escaping @Sendable (Value) -> String?) -> Self { Self { .optional(text($0)) } }

  /// A text, or null if it is empty, such as the owner of the user's own zone.
  static func unlessEmpty(_ text: @escaping @Sendable (Value) -> String) -> Self { Self { .unlessEmpty(text($0)) } }

  static func texts(_ texts: @escaping @Sendable (Value) -> [String]?) -> Self {
    Self { texts($0).map { .array($0.map(JSON.text)) } ?? .null }
  }

  static func integer<Integer: BinaryInteger & Sendable>(_ integer: @escaping @Sendable (Value) -> Integer?) -> Self {
    Self { .optional(integer($0)) }
  }

  static func integers(_ integers: @escaping @Sendable (Value) -> [Int64]) -> Self {
    Self { .array(integers($0).map(JSON.integer)) }
  }

  static func number(_ number: @escaping @Sendable (Value) -> Double?) -> Self { Self { .optional(number($0)) } }

  static func bool(_ bool: @escaping @Sendable (Value) -> Bool?) -> Self { Self { .optional(bool($0)) } }

  /// A time in milliseconds since 1970.
  static func time(_ milliseconds: @escaping @Sendable (Value) -> Int64?) -> Self { Self { .time(milliseconds($0)) } }

  static func counts(_ counts: @escaping @Sendable (Value) -> [String: Int]) -> Self { Self { .counts(counts($0)) } }

  static func object<Part: PrintedObject>(_ part: @escaping @Sendable (Value) -> Part?) -> Self {
    object(Part.jsonFields, part)
  }

  static func object<Part>(_ fields: JSONFields<Part>, _ part: @escaping @Sendable (Value) -> Part?) -> Self {
    Self(fields.shape) { part($0).map { .object(fields.object($0)) } ?? .null }
  }

  static func list<Part: PrintedObject>(_ parts: @escaping @Sendable (Value) -> [Part]) -> Self {
    list(Part.jsonFields, parts)
  }

  static func list<Part>(_ fields: JSONFields<Part>, _ parts: @escaping @Sendable (Value) -> [Part]?) -> Self {
    Self(fields.shape) { parts($0).map { .array($0.map { .object(fields.object($0)) }) } ?? .null }
  }

  /// An error, or null without a code.
  static func error(
    _ code: @escaping @Sendable (Value) -> String?,
    _ message: @escaping @Sendable (Value) -> String?
  ) -> Self {
    object { value in code(value).map { PrintedError(code: $0, message: message(value) ?? "") } }
  }
}

/// A value that is printed as a JSON object.
protocol PrintedObject: Sendable {
  static var jsonFields: JSONFields<Self> { get }
}

extension PrintedObject {
  static var shape: JSONShape { jsonFields.shape }

  var json: JSONObject { Self.jsonFields.object(self) }
}

/// An error inside an object.
private struct PrintedError: PrintedObject {
  let code: String
  let message: String

  static let jsonFields: JSONFields<Self> = ["code": .text(\.code), "message": .text(\.message)]
}

extension ArgumentHelp {
  /// The help of an option that prints JSON, with the fields of the objects.
  static func json(_ abstract: String, _ shape: JSONShape, valueName: String? = nil) -> ArgumentHelp {
    let fields = "JSON fields: \(shape.names.joined(separator: ", "))"
    return ArgumentHelp(abstract, discussion: fields, valueName: valueName)
  }
}
