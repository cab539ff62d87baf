import CloudKitEmulator
import Foundation
import Testing

/// The schema language, read and written.
@Suite(.serialized) struct SchemaLanguageTests {
  static let container = "iCloud.test"

  /// A schema that uses everything the grammar has, in no particular order or spelling.
  static let sample = """
    -- The departments of a company.
    define SCHEMA
        CREATE ROLE DeptManager;
        CREATE ROLE "night watch"; // with a blank
        RECORD TYPE Department (
            "___createTime" TIMESTAMP QUERYABLE SORTABLE, "___recordID" REFERENCE QUERYABLE,
            name STRING SORTABLE QUERYABLE SEARCHABLE,
            /* reserved
               words */ "grant" INT64,
            phone LIST<STRING>, staff LIST < REFERENCE > QUERYABLE, seal ASSET,
            pin ENCRYPTED STRING, place LOCATION, size NUMBER, floor NUMBER PREFERRED AS INT64,
            codes LIST<ENCRYPTED BYTES>,
            GRANT WRITE TO "_creator", GRANT CREATE TO "_icloud", GRANT READ TO "_world",
            GRANT WRITE, CREATE, READ TO DeptManager, GRANT READ TO "night watch"
        );
        RECORD TYPE Empty ();
    """

  static let printed = """
    DEFINE SCHEMA

        CREATE ROLE DeptManager;

        CREATE ROLE "night watch";

        RECORD TYPE Department (
            "___createTime" TIMESTAMP QUERYABLE SORTABLE,
            "___createdBy"  REFERENCE,
            "___etag"       STRING,
            "___modTime"    TIMESTAMP,
            "___modifiedBy" REFERENCE,
            "___recordID"   REFERENCE QUERYABLE,
            codes           LIST<ENCRYPTED BYTES>,
            floor           NUMBER PREFERRED AS INT64,
            "grant"         INT64,
            name            STRING QUERYABLE SEARCHABLE SORTABLE,
            phone           LIST<STRING>,
            pin             ENCRYPTED STRING,
            place           LOCATION,
            seal            ASSET,
            size            NUMBER,
            staff           LIST<REFERENCE> QUERYABLE,
            GRANT READ, CREATE, WRITE TO DeptManager,
            GRANT WRITE TO "_creator",
            GRANT CREATE TO "_icloud",
            GRANT READ TO "_world",
            GRANT READ TO "night watch"
        );
    """

  @Test func `everything the grammar has is read, and printed as the service exports it`() throws {
    let emulator = try Emulator()

    try emulator.importSchema(Self.sample, container: Self.container)
    let text = emulator.exportSchema(container: Self.container)

    #expect(text.hasPrefix(Self.printed + "\n\n    RECORD TYPE Empty (\n"))
    #expect(text.contains("    RECORD TYPE Users (\n"))
    #expect(text.contains("    RECORD TYPE \"cloudkit.share\" (\n"))
    try emulator.importSchema(text, container: Self.container)
    #expect(emulator.exportSchema(container: Self.container) == text)
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
  func `a mistake is named with its place, and nothing is imported`(
    row: (text: String, line: Int, column: Int, reason: String)
  ) throws {
    let emulator = try Emulator()
    let before = emulator.exportSchema(container: Self.container)

    let error = #expect(throws: SchemaError.self) {
      try emulator.importSchema(row.text, container: Self.container)
    }

    #expect(error?.reason == row.reason)
    #expect(error?.line == row.line && error?.column == row.column)
    #expect(emulator.exportSchema(container: Self.container) == before)
  }

  @Test func `a schema beyond the limit is not looked at`() throws {
    let text = "DEFINE SCHEMA" + String(repeating: " ", count: 4_000_000)

    #expect(throws: SchemaError.self) { try Emulator().importSchema(text, container: Self.container) }
  }

  @Test func `whatever bytes a file has, there is one error or a schema that prints stably`() throws {
    let whole = Array((Self.sample + Self.printed).utf8)
    var state: UInt64 = 0x2545_F491_4F6C_DD1D
    func roll(_ sides: Int) -> Int {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return Int(state % UInt64(sides))
    }
    var outcomes = (schemas: 0, errors: 0)
    for _ in 0..<3_000 {
      var bytes = Array(whole.prefix(Self.sample.utf8.count))
      for _ in 0...roll(3) {
        switch roll(4) {
        case 0: bytes[roll(bytes.count)] = UInt8(roll(256))
        case 1: bytes.remove(at: roll(bytes.count))
        case 2: bytes.insert(whole[roll(whole.count)], at: roll(bytes.count))
        default: bytes.removeLast(roll(bytes.count / 8))
        }
      }
      let emulator = try Emulator()
      do {
        try emulator.importSchema(String(decoding: bytes, as: UTF8.self), container: Self.container)
        outcomes.schemas += 1
        let text = emulator.exportSchema(container: Self.container)
        try emulator.importSchema(text, container: Self.container)
        #expect(emulator.exportSchema(container: Self.container) == text)
      } catch let error as SchemaError {
        outcomes.errors += 1
        #expect(error.line > 0 && error.column > 0)
        #expect(error.reason.unicodeScalars.allSatisfy { (0x20..<0x7F).contains($0.value) })
      }
    }
    #expect(outcomes.schemas > 100 && outcomes.errors > 100)
  }
}
