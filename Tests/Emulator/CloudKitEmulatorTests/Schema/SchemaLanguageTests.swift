import CloudKitEmulator
import CloudKitSchema
import Foundation
import TestSupport
import Testing

/// Schemas that the emulator imports and exports.
@Suite(.serialized) struct SchemaLanguageTests {
  static let container = "iCloud.test"

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

    try emulator.importSchema(SchemaSample.text, container: Self.container)
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
