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
      """
      public struct Note {
        public let id: UUID
        /// What it says.
        public var title: String
        var isDone = false // so far
        var due: Date?
      }

      extension Note: CKRecordModel, Decodable, Encodable, Identifiable {
        public static var recordType: Swift.String {
          "Note"
        }

        public static var recordNameKey: Swift.String {
          "id"
        }

        public enum Fields: Swift.String, Swift.CaseIterable, Swift.Sendable {
          case title
          case isDone = "done"
          case due
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
          var container = encoder.container(keyedBy: CodingKeys.self)
          try container.encodeIfPresent(self.id, forKey: .id)
          try container.encodeIfPresent(self.title, forKey: .title)
          try container.encodeIfPresent(self.isDone, forKey: .isDone)
          try container.encodeIfPresent(self.due, forKey: .due)
        }
      }
      """
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
      """
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

      extension Note: CKRecordModel, Decodable, Encodable {
        package static var recordType: Swift.String {
          "Old"
        }

        package static var recordNameKey: Swift.String {
          "recordName"
        }

        package enum Fields: Swift.String, Swift.CaseIterable, Swift.Sendable {
          case title
        }

        private enum CodingKeys: Swift.String, Swift.CodingKey {
          case recordName
          case title
        }

        package func encode(to encoder: any Swift.Encoder) throws {
          var container = encoder.container(keyedBy: CodingKeys.self)
          try container.encodeIfPresent(self.recordName, forKey: .recordName)
          try container.encodeIfPresent(self.title, forKey: .title)
        }
      }
      """
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
      """
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

      extension Odd: CKRecordModel, Decodable, Encodable {
        static var recordNameKey: Swift.String {
          "recordName"
        }

        enum Fields: Swift.String, Swift.CaseIterable, Swift.Sendable {
          case a
          case b
          case c
          case `in`
          case url
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
          var container = encoder.container(keyedBy: CodingKeys.self)
          try container.encodeIfPresent(self.a, forKey: .a)
          try container.encodeIfPresent(self.b, forKey: .b)
          try container.encodeIfPresent(self.c, forKey: .c)
          try container.encodeIfPresent(self.`in`, forKey: .`in`)
          try container.encodeIfPresent(self.url, forKey: .url)
        }
      }
      """
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
      """
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

      extension Own: CKRecordModel, Encodable, Identifiable {
        static var recordType: Swift.String {
          "Own"
        }

        static var recordNameKey: Swift.String {
          "uid"
        }

        enum Fields: Swift.String, Swift.CaseIterable, Swift.Sendable {
          case title = "heading"
          case parent
        }
      }
      """
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
      """
      public extension Outer {
        struct Tag: Decodable {
          var id: Int
          var name: String
        }
      }

      extension Outer.Tag: CKRecordModel, Decodable, Identifiable {
        public static var recordType: Swift.String {
          "Tag"
        }

        public static var recordNameKey: Swift.String {
          "id"
        }

        public enum Fields: Swift.String, Swift.CaseIterable, Swift.Sendable {
          case name
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
      """
    )
  }
}
