import SwiftSyntaxMacrosGenericTestSupport
import Testing

@Suite(.serialized) struct DiagnosticTests {
  @Test(arguments: ["enum", "actor", "protocol"])
  func `only structs and classes are models`(kind: String) {
    expectRefusal(
      of: """
        @CKModel
        \(kind) Note {
        }
        """,
      DiagnosticSpec(message: "@CKModel is for structs and final classes.", line: 1, column: 1)
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
        message: "A class with @CKModel has to be final.",
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
        message: "A nested type with @CKModel cannot be private. Make it fileprivate.",
        line: 2,
        column: 12
      )
    )
  }

  @Test func `an identity and a field are needed`() {
    let missing = "A model has an identity: a property `id` of type String, UUID or integer, or a String `recordName`."
    expectRefusal(
      of: """
        @CKModel struct Note {
          var title: String
        }
        """,
      DiagnosticSpec(message: missing, line: 1, column: 1)
    )
    expectRefusal(
      of: """
        @CKModel struct Note {
          static let id = 1
          var title: String
        }
        """,
      DiagnosticSpec(message: missing, line: 1, column: 1)
    )
    expectRefusal(
      of: """
        @CKModel struct Note {
          var id: Int
        }
        """,
      DiagnosticSpec(
        message: "A model has at least one stored property besides its identity.",
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
      DiagnosticSpec(message: "The identity 'id' is the record's name and no field.", line: 2, column: 3)
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
        message: "'id' is a constant with a value, which no record can set. A constant of the type is static.",
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
        message: "There is a field 'title' already.",
        line: 4,
        column: 12,
        notes: [NoteSpec(message: "It is taken here.", line: 3, column: 7)]
      ),
      DiagnosticSpec(
        message: "There is a field 'id' already.",
        line: 5,
        column: 12,
        notes: [NoteSpec(message: "It is taken here.", line: 2, column: 7)]
      )
    )
  }

  @Test func `names of the system are not for fields`() {
    func system(_ name: String, line: Int, column: Int) -> DiagnosticSpec {
      let text = "'\(name)' is a name that queries take for the system's own. Name the field by @CKField."
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
        message:
          "'\(name)' is no field name: that is a letter of A to Z first, then letters, digits and underscores.",
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
        message: "'größe' is no field name: that is a letter of A to Z first, then letters, digits and underscores.",
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
      DiagnosticSpec(message: "A field's name has to be a plain string literal.", line: 3, column: 12)
    )
    expectRefusal(
      of: """
        @CKModel(recordType: name) struct Note {
          let id: Int
          var title: String
        }
        """,
      DiagnosticSpec(
        message: "The record type has to be a plain string literal. To compute it, declare `recordType`.",
        line: 1,
        column: 22
      )
    )
  }

  @Test func `a record type has the form of one and is given once`() {
    let form =
      "that is a letter of A to Z first, then letters, digits and underscores. Name it by @CKModel(recordType:)."
    expectRefusal(
      of: """
        @CKModel struct Größe {
          let id: Int
          var title: String
        }
        """,
      DiagnosticSpec(message: "'Größe' is no record type: \(form)", line: 1, column: 17)
    )
    expectRefusal(
      of: """
        @CKModel(recordType: "") struct Note {
          let id: Int
          var title: String
        }
        """,
      DiagnosticSpec(message: "'' is no record type: \(form)", line: 1, column: 22)
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
        message: "The record type is given twice.",
        line: 1,
        column: 22,
        notes: [NoteSpec(message: "It is declared here.", line: 2, column: 3)]
      )
    )
  }

  @Test func `tuples and conditional properties have no field`() {
    let text = "A stored property of a model is one name by itself, outside of #if: a record always has its field."
    expectRefusal(
      of: """
        @CKModel struct Note {
          let id: Int
          var title: String
          var (a, b) = (1, 2)
          #if DEBUG
          var trace = ""
          var computed: Int { 1 }
          #endif
        }
        """,
      DiagnosticSpec(message: text, line: 4, column: 7),
      DiagnosticSpec(message: text, line: 6, column: 3)
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
        message: "'1' is no field name: that is a letter of A to Z first, then letters, digits and underscores.",
        line: 6,
        column: 17
      ),
      DiagnosticSpec(message: "There is no stored property 'gone' for this coding key.", line: 6, column: 22),
      DiagnosticSpec(message: "'id' is the identity, so CodingKeys has to have a case for it.", line: 2, column: 7),
      DiagnosticSpec(
        message: "'title' has no default value, so CodingKeys has to have a case for it.",
        line: 3,
        column: 7
      ),
      DiagnosticSpec(message: "The type has CodingKeys of its own: they name its fields.", line: 4, column: 3)
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
        message: "@CKModel makes 'Fields': the type cannot have one of its own.",
        line: 5,
        column: 3
      ),
      DiagnosticSpec(
        message: "@CKModel makes 'recordNameKey': the type cannot have one of its own.",
        line: 2,
        column: 3
      ),
      DiagnosticSpec(
        message: "@CKModel reads CodingKeys where they are an enum in the type itself.",
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
      DiagnosticSpec(message: "@CKField names the field of a stored property.", line: 4, column: 3),
      DiagnosticSpec(message: "@CKField names the field of a stored property.", line: 5, column: 3)
    )
    expectRefusal(
      of: """
        struct Note {
          @CKField("t") var text: String
        }
        """,
      DiagnosticSpec(message: "@CKField means something in a type with @CKModel only.", line: 2, column: 3)
    )
  }
}
