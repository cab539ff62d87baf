import CloudKitSchema
import TestSupport
import Testing

/// The schema language, read and written.
struct SchemaLanguageTests {
  /// The shapes of Apple's page about the language: a role, system fields with indexes, lists, grants, comments in three
  /// forms, and an implicit field that another text leaves out.
  static let written = [
    SchemaSample.text,
    """
    DEFINE SCHEMA
        CREATE ROLE Curator;

        RECORD TYPE Museum (
            "___createTime" TIMESTAMP QUERYABLE SORTABLE,
            "___recordID" REFERENCE QUERYABLE,
            name STRING,
            telephone LIST<STRING>,
            rooms LIST<REFERENCE>,
            GRANT WRITE TO "_creator",
            GRANT CREATE TO "_icloud",
            GRANT READ TO "_world",
            GRANT WRITE, CREATE, READ TO Curator
        );

        RECORD TYPE Room (
            "___createTime" TIMESTAMP QUERYABLE SORTABLE,
            name STRING,
            opened TIMESTAMP,
            seats INT64,
            GRANT WRITE TO "_creator"
        );

    """,
    "// one\n-- two\n/*\nthree\n*/\r\nDEFINE SCHEMA\tRECORD TYPE \"grant\" (n NUMBER PREFERRED AS DOUBLE);  ",
  ]

  @Test(arguments: written) func `a text prints as it was written`(text: String) throws {
    #expect(try CKSchema(parsing: text).description == text)
  }

  @Test func `formatting keeps comments and order`() throws {
    let text = """
      -- Places.
      define schema record type Park( -- green
        -- Its name.
        name string sortable queryable, /* long */ closes TIMESTAMP


      , lakes list<reference> // all
        -- The end.
      ); // Park

      /* People. */
      CREATE ROLE boss;
      -- Done.
      """
    let formatted = """
      -- Places.
      DEFINE SCHEMA

          RECORD TYPE Park ( -- green
              -- Its name.
              name   STRING QUERYABLE SORTABLE,
              /* long */
              closes TIMESTAMP,
              lakes  LIST<REFERENCE> // all
              -- The end.
          ); // Park

          /* People. */
          CREATE ROLE boss;
      -- Done.

      """

    #expect(try CKSchema(parsing: text).formatted == formatted)
    #expect(try CKSchema(parsing: formatted).formatted == formatted)
  }

  @Test func `an edited schema keeps the comments of what is left`() throws {
    var schema = try CKSchema(
      parsing: """
        DEFINE SCHEMA
          RECORD TYPE Old (a STRING);
          -- What is to be done.
          RECORD TYPE Task ( old STRING, -- what
            title STRING, GRANT READ, WRITE TO "_world" );
        """
    )

    schema.roles = ["boss"]
    schema.types["Old"] = nil
    schema.types["New"] = CKSchema.RecordType()
    schema.types["Task"]?.fields["old"] = nil
    schema.types["Task"]?.fields["due"] = CKSchema.Field(type: CKSchema.FieldType(.timestamp), indexes: .sortable)
    schema.types["Task"]?.grants = ["_world": [.read], "boss": [.write]]

    let text = """
      DEFINE SCHEMA

          CREATE ROLE boss;

          -- What is to be done.
          RECORD TYPE Task (
              title STRING,
              GRANT READ TO "_world",
              due   TIMESTAMP SORTABLE,
              GRANT WRITE TO boss
          );

          RECORD TYPE New (
          );

      """
    #expect(schema.description == text)
    #expect(try CKSchema(parsing: text) == schema)
  }

  static let mistakes: [(text: String, line: Int, column: Int, reason: String)] = [
    ("", 1, 1, #"Encountered <EOF> at line 1, column 1. Was expecting "DEFINE""#),
    ("DEFINE\n  SCHEME", 2, 3, #"Encountered "SCHEME" at line 2, column 3. Was expecting "SCHEMA""#),
    // Seen at the real service for a share type without its quotation marks.
    (
      "DEFINE SCHEMA\n  RECORD TYPE cloudkit.share ();", 2, 23,
      #"Encountered "." at line 2, column 23. Was expecting "(""#
    ),
    ("DEFINE SCHEMA RECORD TYPE A (a STRING)", 1, 39, #"Encountered <EOF> at line 1, column 39. Was expecting ";""#),
    (
      "DEFINE SCHEMA RECORD TYPE A (a STRING,);", 1, 39,
      #"Encountered ")" at line 1, column 39. Was expecting an identifier"#
    ),
    (
      "DEFINE SCHEMA RECORD TYPE A (queryable STRING);", 1, 30,
      #"Encountered "queryable" at line 1, column 30. Was expecting an identifier"#
    ),
    ("DEFINE SCHEMA RECORD TYPE A (\"1a\" STRING);", 1, 30, "Invalid field name '1a' at line 1, column 30"),
    ("DEFINE SCHEMA RECORD TYPE A (a INT64, a INT64);", 1, 39, "Duplicate field 'a' at line 1, column 39"),
    ("DEFINE SCHEMA RECORD TYPE A ();RECORD TYPE A ();", 1, 44, "Duplicate record type 'A' at line 1, column 44"),
    ("DEFINE SCHEMA RECORD TYPE _A ();", 1, 27, #"Encountered "_A" at line 1, column 27. Was expecting an identifier"#),
    ("DEFINE SCHEMA RECORD TYPE A (GRANT READ TO boss);", 1, 44, "Unknown role 'boss' at line 1, column 44"),
    (
      "DEFINE SCHEMA RECORD TYPE A (\"___recordID\" STRING);", 1, 44,
      "The type of system field '___recordID' cannot change at line 1, column 44"
    ),
    (
      "DEFINE SCHEMA RECORD TYPE A (a ENCRYPTED STRING QUERYABLE);", 1, 49,
      "Field 'a' of type ENCRYPTED_STRING cannot be QUERYABLE at line 1, column 49"
    ),
    ("DEFINE SCHEMA /* é\n*", 1, 15, "Unterminated comment at line 1, column 15"),
    ("DEFINE SCHEMA /*é*/ \"a", 1, 21, "Unterminated identifier at line 1, column 21"),
    ("DEFINE SCHEMA \u{1B}[2J", 1, 15, "Encountered the byte 0x1b at line 1, column 15"),
    ("DEFINE SCHEMA CREATE ROLE \"_x\";", 1, 27, "Invalid role name '_x' at line 1, column 27"),
  ]

  @Test(arguments: mistakes)
  func `a mistake is named with its place`(row: (text: String, line: Int, column: Int, reason: String)) {
    let error = #expect(throws: CKSchemaError.self) { try CKSchema(parsing: row.text) }

    #expect(error?.reason == row.reason)
    #expect(error?.line == row.line && error?.column == row.column)
  }

  @Test func `a schema beyond the limit is not read`() throws {
    let text = "DEFINE SCHEMA" + String(repeating: " ", count: CKSchema.sizeLimit)

    #expect(throws: CKSchemaError.self) { try CKSchema(parsing: text) }
  }

  @Test func `whatever bytes a file has, there is one error, or a schema that prints unchanged and formats stably`()
    throws
  {
    let whole = Array((SchemaSample.text + Self.written[1]).utf8)
    var random = SplitMix64(seed: 7)
    func roll(_ sides: Int) -> Int { Int.random(in: 0..<sides, using: &random) }
    var outcomes = (schemas: 0, errors: 0)
    for _ in 0..<3_000 {
      var bytes = Array(whole.prefix(SchemaSample.text.utf8.count))
      for _ in 0...roll(3) {
        switch roll(4) {
        case 0: bytes[roll(bytes.count)] = UInt8(roll(256))
        case 1: bytes.remove(at: roll(bytes.count))
        case 2: bytes.insert(whole[roll(whole.count)], at: roll(bytes.count))
        default: bytes.removeLast(roll(bytes.count / 8))
        }
      }
      let written = String(decoding: bytes, as: UTF8.self)
      do throws(CKSchemaError) {
        let schema = try CKSchema(parsing: written)
        outcomes.schemas += 1
        #expect(schema.description == written)
        for text in [schema.formatted, schema.exported] {
          let again = try CKSchema(parsing: text)
          #expect(again == schema)
          #expect(again.formatted == text)
        }
      } catch {
        outcomes.errors += 1
        #expect(error.line > 0 && error.column > 0)
        #expect(error.reason.unicodeScalars.allSatisfy { (0x20..<0x7F).contains($0.value) })
      }
    }
    #expect(outcomes.schemas > 100 && outcomes.errors > 100)
  }
}
