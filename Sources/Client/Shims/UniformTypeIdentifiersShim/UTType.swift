/// A type of data, identified by its uniform type identifier.
public struct UTType: Hashable, Sendable, Codable, CustomStringConvertible {
  /// The identifier, such as `public.json`.
  public let identifier: String

  private init(known identifier: String) { self.identifier = identifier }

  /// Creates the type of an identifier; nil if it is not in the table.
  public init?(_ identifier: String) {
    guard Self.table[identifier] != nil else { return nil }
    self.init(known: identifier)
  }

  /// Creates the type of a file name extension; nil if it is empty. An extension that is not in the table gets a
  /// dynamic type, as on Apple's systems.
  public init?(filenameExtension: String, conformingTo supertype: UTType = .data) {
    guard !filenameExtension.isEmpty else { return nil }
    let name = filenameExtension.lowercased()
    let known = Self.table.first { $0.value.extensions.contains(name) }.map { UTType(known: $0.key) }
    self = known.flatMap { $0.conforms(to: supertype) ? $0 : nil } ?? UTType(known: Self.dynamicPrefix + name)
  }

  /// Creates the type of a MIME type; nil if it is not in the table.
  public init?(mimeType: String) {
    guard let known = Self.table.first(where: { $0.value.mime == mimeType.lowercased() }) else { return nil }
    self.init(known: known.key)
  }

  /// The preferred file name extension, without its dot; nil if there is none.
  public var preferredFilenameExtension: String? {
    isDynamic ? String(identifier.dropFirst(Self.dynamicPrefix.count)) : Self.table[identifier]?.extensions.first
  }

  /// The preferred MIME type; nil if there is none.
  public var preferredMIMEType: String? { Self.table[identifier]?.mime }

  /// Whether the type is defined only by a file name extension.
  public var isDynamic: Bool { identifier.hasPrefix(Self.dynamicPrefix) }

  /// Whether the type is equal to another or a subtype of it.
  public func conforms(to type: UTType) -> Bool { self == type || isSubtype(of: type) }

  /// Whether the type is a subtype of another.
  public func isSubtype(of type: UTType) -> Bool {
    let parents = isDynamic ? [Self.data.identifier] : Self.table[identifier]?.parents ?? []
    return parents.contains { UTType(known: $0).conforms(to: type) }
  }

  /// The identifier.
  public var description: String { identifier }

  private static let dynamicPrefix = "dyn."
}

extension UTType {
  /// Any item.
  public static let item = UTType(known: "public.item")
  /// A stream of bytes.
  public static let data = UTType(known: "public.data")
  /// Content that people read, see or hear.
  public static let content = UTType(known: "public.content")
  /// Text of any kind.
  public static let text = UTType(known: "public.text")
  /// Text without markup.
  public static let plainText = UTType(known: "public.plain-text")
  /// Text without markup, in UTF-8.
  public static let utf8PlainText = UTType(known: "public.utf8-plain-text")
  /// Comma-separated values.
  public static let commaSeparatedText = UTType(known: "public.comma-separated-values-text")
  /// JSON.
  public static let json = UTType(known: "public.json")
  /// XML.
  public static let xml = UTType(known: "public.xml")
  /// A property list in any format.
  public static let propertyList = UTType(known: "com.apple.property-list")
  /// A property list in XML format.
  public static let xmlPropertyList = UTType(known: "com.apple.xml-property-list")
  /// A property list in binary format.
  public static let binaryPropertyList = UTType(known: "com.apple.binary-property-list")
  /// An image in any format.
  public static let image = UTType(known: "public.image")
  /// A JPEG image.
  public static let jpeg = UTType(known: "public.jpeg")
  /// A PNG image.
  public static let png = UTType(known: "public.png")
  /// A PDF document.
  public static let pdf = UTType(known: "com.adobe.pdf")
  /// A ZIP archive.
  public static let zip = UTType(known: "public.zip-archive")

  private typealias Row = (parents: [String], extensions: [String], mime: String?)

  private static let table: [String: Row] = [
    "public.item": ([], [], nil),
    "public.data": (["public.item"], [], "application/octet-stream"),
    "public.content": ([], [], nil),
    "public.text": (["public.data", "public.content"], [], nil),
    "public.plain-text": (["public.text"], ["txt", "text"], "text/plain"),
    "public.utf8-plain-text": (["public.plain-text"], [], nil),
    "public.comma-separated-values-text": (["public.text"], ["csv"], "text/csv"),
    "public.json": (["public.text"], ["json"], "application/json"),
    "public.xml": (["public.text"], ["xml"], "application/xml"),
    "com.apple.property-list": (["public.data"], ["plist"], nil),
    "com.apple.xml-property-list": (["public.xml", "com.apple.property-list"], ["plist"], "application/x-plist"),
    "com.apple.binary-property-list": (["com.apple.property-list"], ["plist"], nil),
    "public.image": (["public.data", "public.content"], [], nil),
    "public.jpeg": (["public.image"], ["jpeg", "jpg", "jpe"], "image/jpeg"),
    "public.png": (["public.image"], ["png"], "image/png"),
    "com.adobe.pdf": (["public.data", "public.content"], ["pdf"], "application/pdf"),
    "public.zip-archive": (["public.data"], ["zip"], "application/zip"),
  ]
}
