import CloudKitEmulator
import CloudKitSchema
import Foundation
import Testing

/// Schemas that the emulator imports and exports.
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

  @Test func `nothing is imported from a text with a mistake`() throws {
    let emulator = try Emulator()
    let before = emulator.exportSchema(container: Self.container)

    #expect(throws: CKSchemaError.self) {
      try emulator.importSchema("DEFINE SCHEMA RECORD TYPE A (a STRING,);", container: Self.container)
    }

    #expect(emulator.exportSchema(container: Self.container) == before)
  }
}
