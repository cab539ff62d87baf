/// Schemas for tests.
package enum SchemaSample {
  /// A schema that uses everything the grammar has, in no particular order or spelling.
  package static let text = """
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
}
