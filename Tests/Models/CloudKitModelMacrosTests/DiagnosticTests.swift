import SwiftSyntaxMacrosGenericTestSupport
import Testing

private let nameForm = "it must start with a letter (A–Z), followed by letters, digits and underscores."

@Suite(.serialized) struct DiagnosticTests {
  @Test(arguments: ["enum", "actor", "protocol"])
  func `only structs and classes are models`(kind: String) {
    expectRefusal(
      of: """
        @CKModel
        \(kind) Note {
        }
        """,
      DiagnosticSpec(message: "@CKModel can only be applied to structs and final classes.", line: 1, column: 1)
    )
  }

  @Test func `a class has to be final, and can be made so`() {
    expectRefusal(
      of: """
        @CKModel
        public class Note {
          let id: Int
        }
        """,
      DiagnosticSpec(
        message: "A class marked @CKModel must be final.",
        line: 2,
        column: 8,
        fixIts: [FixItSpec(message: "Make it final")]
      ),
      fixed: """
        @CKModel
        public final class Note {
          let id: Int
        }
        """
    )
  }

  @Test func `a nested type is not private`() {
    expectRefusal(
      of: """
        enum Outer {
          @CKModel private struct Note {
            let id: Int
            var title: String
          }
        }
        """,
      DiagnosticSpec(
        message: "A nested type marked @CKModel cannot be private. Make it fileprivate.",
        line: 2,
        column: 12,
        fixIts: [FixItSpec(message: "Make it fileprivate")]
      ),
      fixed: """
        enum Outer {
          @CKModel fileprivate struct Note {
            let id: Int
            var title: String
          }
        }
        """
    )
  }

  @Test func `an identity and a field are needed, and an identity can be added`() {
    let missing = DiagnosticSpec(
      message: "A model needs an identity: a property `id` of type String, UUID or integer, or a String `recordName`.",
      line: 1,
      column: 1,
      fixIts: [FixItSpec(message: "Add 'var id = UUID()'")]
    )
    expectRefusal(
      of: """
        @CKModel struct Note {

          /// The text.
          var title: String
        }
        """,
      missing,
      fixed: """
        @CKModel struct Note {
          var id = UUID()

          /// The text.
          var title: String
        }
        """
    )
    expectRefusal(
      of: """
        @CKModel struct Note { var title: String
        }
        """,
      missing,
      fixed: """
        @CKModel struct Note { var id = UUID(); var title: String
        }
        """
    )
    expectRefusal(
      of: """
        @CKModel struct Note {
          static let id = 1
          var title: String
        }
        """,
      missing
    )
    expectRefusal(
      of: """
        @CKModel struct Note {
          var id: Int
        }
        """,
      DiagnosticSpec(
        message: "A model needs at least one stored property besides its identity.",
        line: 1,
        column: 1
      )
    )
  }

  @Test func `the identity is no field`() {
    expectRefusal(
      of: """
        @CKModel struct Note {
          @CKField("uid") let id: Int
          var title: String
        }
        """,
      DiagnosticSpec(message: "The identity 'id' is the record name and cannot be a field.", line: 2, column: 3)
    )
  }

  @Test func `a constant with a value cannot be read back, and can be made a variable`() {
    expectRefusal(
      of: """
        @CKModel struct Note {
          let id = UUID()
          var title: String
        }
        """,
      DiagnosticSpec(
        message: "'id' is a constant with a value, which cannot be read from a record. Make it a variable or static.",
        line: 2,
        column: 7,
        fixIts: [FixItSpec(message: "Make it a variable")]
      ),
      fixed: """
        @CKModel struct Note {
          var id = UUID()
          var title: String
        }
        """
    )
  }

  @Test func `two properties with one field are told with both places`() {
    expectRefusal(
      of: """
        @CKModel struct Note {
          let id: Int
          var title: String
          @CKField("title") var heading: String
          @CKField("id") var number: Int
        }
        """,
      DiagnosticSpec(
        message: "The name 'title' is already used.",
        line: 4,
        column: 12,
        notes: [NoteSpec(message: "The name is already used here.", line: 3, column: 7)]
      ),
      DiagnosticSpec(
        message: "The name 'id' is already used.",
        line: 5,
        column: 12,
        notes: [NoteSpec(message: "The name is already used here.", line: 2, column: 7)]
      )
    )
  }

  @Test func `names of the system are not for fields`() {
    func system(_ name: String, line: Int, column: Int) -> DiagnosticSpec {
      let text = "Queries use '\(name)' for a system field. Set another field name with @CKField."
      return DiagnosticSpec(message: text, line: line, column: column)
    }
    expectRefusal(
      of: """
        @CKModel struct Note {
          let id: Int
          var creationDate: Date
          @CKField("recordID") var number: Int
        }
        """,
      system("creationDate", line: 3, column: 7),
      system("recordID", line: 4, column: 12)
    )
  }

  @Test(arguments: ["", "1st", "_a", "a-b", "a b", "größe"])
  func `a field's name is a letter, then letters, digits and underscores`(name: String) {
    expectRefusal(
      of: """
        @CKModel struct Note {
          let id: Int
          @CKField("\(name)") var title: String
        }
        """,
      DiagnosticSpec(
        message: "'\(name)' is not a valid field name: \(nameForm)",
        line: 3,
        column: 12
      )
    )
  }

  @Test func `a property's own name has to be one of a field`() {
    expectRefusal(
      of: """
        @CKModel struct Note {
          let id: Int
          var größe: Int
        }
        """,
      DiagnosticSpec(
        message: "'größe' is not a valid field name: \(nameForm)",
        line: 3,
        column: 7
      )
    )
  }

  @Test func `names are plain literals`() {
    expectRefusal(
      of: """
        @CKModel struct Note {
          let id: Int
          @CKField(name) var title: String
        }
        """,
      DiagnosticSpec(message: "A field name must be a plain string literal.", line: 3, column: 12)
    )
    expectRefusal(
      of: """
        @CKModel(recordType: name) struct Note {
          let id: Int
          var title: String
        }
        """,
      DiagnosticSpec(
        message: "The record type must be a plain string literal. To compute it, declare `recordType`.",
        line: 1,
        column: 22
      )
    )
  }

  @Test func `a record type has the form of one and is given once`() {
    let form = "\(nameForm) Set it with @CKModel(recordType:)."
    expectRefusal(
      of: """
        @CKModel struct Größe {
          let id: Int
          var title: String
        }
        """,
      DiagnosticSpec(message: "'Größe' is not a valid record type: \(form)", line: 1, column: 17)
    )
    expectRefusal(
      of: """
        @CKModel(recordType: "") struct Note {
          let id: Int
          var title: String
        }
        """,
      DiagnosticSpec(message: "'' is not a valid record type: \(form)", line: 1, column: 22)
    )
    expectRefusal(
      of: """
        @CKModel(recordType: "A") struct Note {
          static let recordType = "B"
          let id: Int
          var title: String
        }
        """,
      DiagnosticSpec(
        message: "The record type is declared twice.",
        line: 1,
        column: 22,
        notes: [NoteSpec(message: "The type declares it here.", line: 2, column: 3)]
      )
    )
    expectRefusal(
      of: """
        @CKModel struct Note {
          static let RecordType = "A"
          static let recordType = "B"
          let id: Int
          var title: String
        }
        """,
      DiagnosticSpec(
        message: "The record type is declared twice.",
        line: 3,
        column: 3,
        notes: [NoteSpec(message: "The type declares it here.", line: 2, column: 3)]
      )
    )
  }

  @Test func `conditional properties have no field`() {
    expectRefusal(
      of: """
        @CKModel struct Note {
          let id: Int
          var title: String
          #if DEBUG
          var trace = ""
          var computed: Int { 1 }
          #endif
        }
        """,
      DiagnosticSpec(message: "A stored property of a model cannot be inside #if.", line: 5, column: 3)
    )
  }

  @Test(arguments: [
    ("(a, b) = (1, [2])", "a = 1, b = [2]"),
    ("(a, b): (Int, Set<Int>) = (1, [2])", "a: Int = 1, b: Set<Int> = [2]"),
    ("(a, b): (Int, Int)", "a: Int, b: Int"),
    ("title = \"\", (a, b) = (1, 2), c = 3", "title = \"\", a = 1, b = 2, c = 3"),
  ])
  func `a tuple has no field, and its properties can be declared one by one`(tuple: String, separated: String) {
    expectRefusal(
      of: """
        @CKModel struct Note {
          let id: Int
          var \(tuple) // Both.
        }
        """,
      DiagnosticSpec(
        message: "A stored property of a model cannot be part of a tuple.",
        line: 3,
        column: tuple.hasPrefix("title") ? 19 : 7,
        fixIts: [FixItSpec(message: "Declare each property by itself")]
      ),
      fixed: """
        @CKModel struct Note {
          let id: Int
          var \(separated) // Both.
        }
        """
    )
  }

  @Test(arguments: ["(a, _) = (1, 2)", "(a, b) = pair", "(a, (b, c)) = (1, (2, 3))"])
  func `a tuple whose parts are unknown gets no fix-it`(tuple: String) {
    expectRefusal(
      of: """
        @CKModel struct Note {
          let id: Int
          var title: String
          var \(tuple)
        }
        """,
      DiagnosticSpec(message: "A stored property of a model cannot be part of a tuple.", line: 4, column: 7)
    )
  }

  @Test func `coding keys of the type's own have to fit its properties`() {
    expectRefusal(
      of: """
        @CKModel struct Note {
          var id = 1
          var title: String
          @CKField("t") var text = ""
          enum CodingKeys: String, CodingKey {
            case text = "1", gone
          }
        }
        """,
      DiagnosticSpec(
        message: "'1' is not a valid field name: \(nameForm)",
        line: 6,
        column: 17
      ),
      DiagnosticSpec(message: "There is no stored property 'gone' for this coding key.", line: 6, column: 22),
      DiagnosticSpec(message: "'id' is the identity, so CodingKeys must have a case for it.", line: 2, column: 7),
      DiagnosticSpec(
        message: "'title' has no default value, so CodingKeys must have a case for it.",
        line: 3,
        column: 7
      ),
      DiagnosticSpec(message: "@CKField has no effect in a type with its own CodingKeys.", line: 4, column: 3)
    )
  }

  @Test func `members with names of what is made are told`() {
    expectRefusal(
      of: """
        @CKModel struct Note {
          static let recordNameKey = "id"
          let id: Int
          var title: String
          struct Fields {}
          typealias CodingKeys = Keys
        }
        """,
      DiagnosticSpec(
        message: "@CKModel generates 'Fields', so the type cannot declare it.",
        line: 5,
        column: 3
      ),
      DiagnosticSpec(
        message: "@CKModel generates 'recordNameKey', so the type cannot declare it.",
        line: 2,
        column: 3
      ),
      DiagnosticSpec(
        message: "CodingKeys must be an enum declared in the type marked @CKModel.",
        line: 6,
        column: 3
      )
    )
  }

  @Test func `a field's attribute stands on a stored property of a model`() {
    expectRefusal(
      of: """
        struct Note {
          let id: Int
          var text: String
          @CKField("size") var length: Int { 1 }
          @CKField("f") func f() {}
        }
        """,
      DiagnosticSpec(message: "@CKField can only be applied to a stored property.", line: 4, column: 3),
      DiagnosticSpec(message: "@CKField can only be applied to a stored property.", line: 5, column: 3)
    )
    expectRefusal(
      of: """
        struct Note {
          @CKField("t") var text: String
        }
        """,
      DiagnosticSpec(message: "@CKField can only be used inside a type marked @CKModel.", line: 2, column: 3)
    )
  }

  @Test(
    arguments: [
      ("let made: Date", 27, "var made: Date?"), ("var made: Date", 27, "var made: Date?"),
      ("let made: Date?", 27, "var made: Date?"),
    ]
  )
  func `a system value is an optional variable, and can be made one`(written: String, column: Int, fixed: String) {
    expectRefusal(
      of: """
        @CKModel struct Note {
          let id: Int
          var title: String
          @CKSystem(.creationDate) \(written)
        }
        """,
      DiagnosticSpec(
        message: "'made' is a system value, which a new model does not have. Make it an optional variable.",
        line: 4,
        column: column + 5,
        fixIts: [FixItSpec(message: "Make it an optional variable")]
      ),
      fixed: """
        @CKModel struct Note {
          let id: Int
          var title: String
          @CKSystem(.creationDate) \(fixed)
        }
        """
    )
  }

  @Test func `a system value is one of the record's, once, and neither the identity nor a field`() {
    expectRefusal(
      of: """
        @CKModel struct Note {
          @CKSystem(.changeTag) let id: Int
          var title: String
          @CKSystem(.creationDate) @CKField("made") var made: Date?
          @CKSystem(.creationDate) var again: Date?
          @CKSystem(value) var other: Date?
          @CKField("made") var field: Date
        }
        """,
      DiagnosticSpec(
        message: "The identity 'id' is the record name and cannot be another system value.",
        line: 2,
        column: 3
      ),
      DiagnosticSpec(message: "'made' is a system value and cannot be a field.", line: 4, column: 28),
      DiagnosticSpec(
        message: "Another property already is the system value 'creationDate'.",
        line: 5,
        column: 3
      ),
      DiagnosticSpec(message: "A system value must be written as a case, such as .creationDate.", line: 6, column: 13),
      DiagnosticSpec(
        message: "The name 'made' is already used.",
        line: 7,
        column: 12,
        notes: [NoteSpec(message: "The name is already used here.", line: 4, column: 49)]
      )
    )
  }

  @Test func `whether a field is an asset is a literal, and is not declared twice`() {
    expectRefusal(
      of: """
        @CKModel struct Note {
          static let assetKeys: Set<String> = []
          let id: Int
          @CKField(asset: isLarge) var text: Data
          @CKField(asset: true) var data: Data
        }
        """,
      DiagnosticSpec(message: "The argument 'asset' must be true or false.", line: 4, column: 19),
      DiagnosticSpec(message: "@CKModel generates 'assetKeys', so the type cannot declare it.", line: 2, column: 3)
    )
    expectRefusal(
      of: """
        @CKModel struct Note {
          let id: Int
          @CKField("t", asset: true) var text: Data
          enum CodingKeys: String, CodingKey {
            case id, text
          }
        }
        """,
      DiagnosticSpec(message: "The type's own CodingKeys set the field name.", line: 3, column: 12)
    )
  }

  @Test func `a declared key is that of a property, and can be corrected`() {
    expectRefusal(
      of: """
        @CKModel struct Note {
          static let mergeRules: [String: MergeRule] = ["topics": .elements, "tgas": .elements]
          static let assetKeys: Set<String> = ["picture"]
          var id: Int
          var tags: [String]
          @CKField("topics") var subjects: [String]
        }
        """,
      DiagnosticSpec(
        message: "Note.mergeRules has the key 'tgas', which no property has. Did you mean 'tags'?",
        line: 2,
        column: 70,
        fixIts: [FixItSpec(message: "Replace it with 'tags'")]
      ),
      DiagnosticSpec(
        message: "Note.assetKeys has the key 'picture', which no property has. The keys are id, tags, topics.",
        line: 3,
        column: 40
      ),
      fixed: """
        @CKModel struct Note {
          static let mergeRules: [String: MergeRule] = ["topics": .elements, "tags": .elements]
          static let assetKeys: Set<String> = ["picture"]
          var id: Int
          var tags: [String]
          @CKField("topics") var subjects: [String]
        }
        """
    )
  }
}
