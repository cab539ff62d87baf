import SwiftSyntaxMacrosGenericTestSupport
import Testing

@Suite(.serialized) struct ExpansionTests {
  @Test func `a struct gets its conformances in an extension`() {
    expectExpansion(
      of: """
        @CKModel
        public struct Note {
          public let id: UUID
          /// What it says.
          public var title: String
          @CKField("done") var isDone = false // so far
          var due: Date?
        }
        """,
      #"""
      public struct Note {
        public let id: UUID
        /// What it says.
        public var title: String
        var isDone = false // so far
        var due: Date?
      }

      extension Note: CKFieldModel, Decodable, Encodable, Identifiable {
        public static var recordType: Swift.String {
          "Note"
        }

        public static var recordNameKey: Swift.String {
          "id"
        }

        public enum Fields: Swift.String, CloudKitModels.CKRecordFields {
          case title
          case isDone = "done"
          case due
        }

        public static func queryKey(for property: Swift.PartialKeyPath<Self>) -> Swift.String? {
          switch property {
          case \Self.title:
            "title"
          case \Self.isDone:
            "done"
          case \Self.due:
            "due"
          default:
            nil
          }
        }

        public static var fieldProperties: [Fields: Swift.PartialKeyPath<Self>] {
          [
            .title: \Self.title,
            .isDone: \Self.isDone,
            .due: \Self.due
          ]
        }

        private enum CodingKeys: Swift.String, Swift.CodingKey {
          case id
          case title
          case isDone = "done"
          case due
        }

        public init(from decoder: any Swift.Decoder) throws {
          let fields = try CloudKitModels.CKFieldReader(decoder, keyedBy: CodingKeys.self)
          self.id = try fields.value(.id)
          self.title = try fields.value(.title)
          self.isDone = try fields.value(.isDone, default: false)
          self.due = try fields.value(.due)
        }

        public func encode(to encoder: any Swift.Encoder) throws {
          var fields = CloudKitModels.CKFieldWriter(encoder, keyedBy: CodingKeys.self)
          try fields.write(self.id, for: .id)
          try fields.write(self.title, for: .title)
          try fields.write(self.isDone, for: .isDone)
          try fields.write(self.due, for: .due)
        }
      }
      """#
    )
  }

  @Test func `a final class gets its initializers as members`() {
    expectExpansion(
      of: """
        @CKModel(recordType: "Old")
        package final class Note {
          var recordName = "n"
          var title = "Milk"
        }
        """,
      #"""
      package final class Note {
        var recordName = "n"
        var title = "Milk"

        init() {
        }

        package init(from decoder: any Swift.Decoder) throws {
          let fields = try CloudKitModels.CKFieldReader(decoder, keyedBy: CodingKeys.self)
          self.recordName = try fields.value(.recordName)
          self.title = try fields.value(.title, default: "Milk")
        }
      }

      extension Note: CKFieldModel, Decodable, Encodable {
        package static var recordType: Swift.String {
          "Old"
        }

        package static var recordNameKey: Swift.String {
          "recordName"
        }

        package enum Fields: Swift.String, CloudKitModels.CKRecordFields {
          case title
        }

        package static func queryKey(for property: Swift.PartialKeyPath<Note>) -> Swift.String? {
          switch property {
          case \Note.title:
            "title"
          default:
            nil
          }
        }

        package static var fieldProperties: [Fields: Swift.PartialKeyPath<Note>] {
          [
            .title: \Note.title
          ]
        }

        private enum CodingKeys: Swift.String, Swift.CodingKey {
          case recordName
          case title
        }

        package func encode(to encoder: any Swift.Encoder) throws {
          var fields = CloudKitModels.CKFieldWriter(encoder, keyedBy: CodingKeys.self)
          try fields.write(self.recordName, for: .recordName)
          try fields.write(self.title, for: .title)
        }
      }
      """#
    )
  }

  @Test func `what is no field is left alone, and what is one is found in every shape`() {
    expectExpansion(
      of: """
        @CKModel
        private struct Odd<Value: Codable> {
          static let recordType: String = "Odds"
          static var count = 0
          let a, b: String
          var c = 1, d: Int { 2 }
          var `in`: Value { didSet { print(oldValue) } }
          lazy var cache = [a]
          var computed: Int { get { 1 } set {} }
          @available(*, deprecated) private(set) var url: URL? = nil
          var recordName: String { a + b }
          struct Inner {
            var deep = 1
          }
        }
        """,
      #"""
      private struct Odd<Value: Codable> {
        static let recordType: String = "Odds"
        static var count = 0
        let a, b: String
        var c = 1, d: Int { 2 }
        var `in`: Value { didSet { print(oldValue) } }
        lazy var cache = [a]
        var computed: Int { get { 1 } set {} }
        @available(*, deprecated) private(set) var url: URL? = nil
        var recordName: String { a + b }
        struct Inner {
          var deep = 1
        }
      }

      extension Odd: CKFieldModel, Decodable, Encodable {
        static var recordNameKey: Swift.String {
          "recordName"
        }

        enum Fields: Swift.String, CloudKitModels.CKRecordFields {
          case a
          case b
          case c
          case `in`
          case url
        }

        static func queryKey(for property: Swift.PartialKeyPath<Self>) -> Swift.String? {
          switch property {
          case \Self.a:
            "a"
          case \Self.b:
            "b"
          case \Self.c:
            "c"
          case \Self.`in`:
            "in"
          case \Self.url:
            "url"
          default:
            nil
          }
        }

        static var fieldProperties: [Fields: Swift.PartialKeyPath<Self>] {
          [
            .a: \Self.a,
            .b: \Self.b,
            .c: \Self.c,
            .`in`: \Self.`in`,
            .url: \Self.url
          ]
        }

        private enum CodingKeys: Swift.String, Swift.CodingKey {
          case a
          case b
          case c
          case `in`
          case url
        }

        init(from decoder: any Swift.Decoder) throws {
          let fields = try CloudKitModels.CKFieldReader(decoder, keyedBy: CodingKeys.self)
          self.a = try fields.value(.a)
          self.b = try fields.value(.b)
          self.c = try fields.value(.c, default: 1)
          self.`in` = try fields.value(.`in`)
          self.url = try fields.value(.url)
        }

        func encode(to encoder: any Swift.Encoder) throws {
          var fields = CloudKitModels.CKFieldWriter(encoder, keyedBy: CodingKeys.self)
          try fields.write(self.a, for: .a)
          try fields.write(self.b, for: .b)
          try fields.write(self.c, for: .c)
          try fields.write(self.`in`, for: .`in`)
          try fields.write(self.url, for: .url)
        }
      }
      """#
    )
  }

  @Test func `coding keys and coding of the type's own are kept`() {
    expectExpansion(
      of: """
        @CKModel
        struct Own: Encodable {
          var id = ""
          var title: String
          var parent: String?
          var draft = ""
          enum CodingKeys: String, CodingKey {
            case id = "uid", title = "heading", parent
          }
          func encode(to encoder: any Encoder) throws {}
        }
        """,
      #"""
      struct Own: Encodable {
        var id = ""
        var title: String
        var parent: String?
        var draft = ""
        enum CodingKeys: String, CodingKey {
          case id = "uid", title = "heading", parent
        }
        func encode(to encoder: any Encoder) throws {}
      }

      extension Own: CKFieldModel, Encodable, Identifiable {
        static var recordType: Swift.String {
          "Own"
        }

        static var recordNameKey: Swift.String {
          "uid"
        }

        enum Fields: Swift.String, CloudKitModels.CKRecordFields {
          case title = "heading"
          case parent
        }

        static func queryKey(for property: Swift.PartialKeyPath<Self>) -> Swift.String? {
          switch property {
          case \Self.title:
            "heading"
          case \Self.parent:
            "parent"
          default:
            nil
          }
        }

        static var fieldProperties: [Fields: Swift.PartialKeyPath<Self>] {
          [
            .title: \Self.title,
            .parent: \Self.parent
          ]
        }
      }
      """#
    )
  }

  @Test func `a nested type is extended by its full name and is public where its extension is`() {
    expectExpansion(
      of: """
        public extension Outer {
          @CKModel struct Tag: Decodable {
            var id: Int
            var name: String
          }
        }
        """,
      #"""
      public extension Outer {
        struct Tag: Decodable {
          var id: Int
          var name: String
        }
      }

      extension Outer.Tag: CKFieldModel, Decodable, Identifiable {
        public static var recordType: Swift.String {
          "Tag"
        }

        public static var recordNameKey: Swift.String {
          "id"
        }

        public enum Fields: Swift.String, CloudKitModels.CKRecordFields {
          case name
        }

        public static func queryKey(for property: Swift.PartialKeyPath<Self>) -> Swift.String? {
          switch property {
          case \Self.name:
            "name"
          default:
            nil
          }
        }

        public static var fieldProperties: [Fields: Swift.PartialKeyPath<Self>] {
          [
            .name: \Self.name
          ]
        }

        private enum CodingKeys: Swift.String, Swift.CodingKey {
          case id
          case name
        }

        public init(from decoder: any Swift.Decoder) throws {
          let fields = try CloudKitModels.CKFieldReader(decoder, keyedBy: CodingKeys.self)
          self.id = try fields.value(.id)
          self.name = try fields.value(.name)
        }
      }
      """#
    )
  }

  @Test func `assets and system values have keys of their own`() {
    expectExpansion(
      of: """
        @CKModel
        struct Photo {
          let id: UUID
          @CKField(asset: true) var small: Data?
          @CKField("big", asset: true) var large = Data()
          @CKField(asset: false, reference: .deleteSelf) var title: String
          @CKSystem(.creationDate) var createdAt: Date?
          @CKSystem(.creatorUserRecordName) var author: String?
          @CKSystem(.changeTag) var version: String?
        }
        """,
      #"""
      struct Photo {
        let id: UUID
        var small: Data?
        var large = Data()
        var title: String
        var createdAt: Date?
        var author: String?
        var version: String?
      }

      extension Photo: CKFieldModel, Decodable, Encodable, Identifiable {
        static var recordType: Swift.String {
          "Photo"
        }

        static var recordNameKey: Swift.String {
          "id"
        }

        static var assetKeys: Swift.Set<Swift.String> {
          ["small", "big"]
        }

        static var referenceActions: CloudKitModels.CKReferenceActions {
          ["title": .deleteSelf]
        }

        static var systemKeys: [Swift.String: CloudKitModels.CKSystemValue] {
          ["createdAt": .creationDate, "author": .creatorUserRecordName, "version": .changeTag]
        }

        enum Fields: Swift.String, CloudKitModels.CKRecordFields {
          case small
          case large = "big"
          case title
        }

        static func queryKey(for property: Swift.PartialKeyPath<Self>) -> Swift.String? {
          switch property {
          case \Self.small:
            "small"
          case \Self.large:
            "big"
          case \Self.title:
            "title"
          case \Self.createdAt:
            "creationDate"
          case \Self.author:
            "creatorUserRecordID"
          default:
            nil
          }
        }

        static var fieldProperties: [Fields: Swift.PartialKeyPath<Self>] {
          [
            .small: \Self.small,
            .large: \Self.large,
            .title: \Self.title
          ]
        }

        private enum CodingKeys: Swift.String, Swift.CodingKey {
          case id
          case small
          case large = "big"
          case title
          case createdAt
          case author
          case version
        }

        init(from decoder: any Swift.Decoder) throws {
          let fields = try CloudKitModels.CKFieldReader(decoder, keyedBy: CodingKeys.self)
          self.id = try fields.value(.id)
          self.small = try fields.value(.small)
          self.large = try fields.value(.large, default: Data())
          self.title = try fields.value(.title)
          self.createdAt = try fields.value(.createdAt)
          self.author = try fields.value(.author)
          self.version = try fields.value(.version)
        }

        func encode(to encoder: any Swift.Encoder) throws {
          var fields = CloudKitModels.CKFieldWriter(encoder, keyedBy: CodingKeys.self)
          try fields.write(self.id, for: .id)
          try fields.write(self.small, for: .small)
          try fields.write(self.large, for: .large)
          try fields.write(self.title, for: .title)
          try fields.write(self.createdAt, for: .createdAt)
          try fields.write(self.author, for: .author)
          try fields.write(self.version, for: .version)
        }
      }
      """#
    )
  }
}
