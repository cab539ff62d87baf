import CloudKitSchema
import Testing

/// The differences between schemas, and those that production refuses.
struct SchemaChangeTests {
  typealias Row = (old: String, new: String, changes: [String])

  static let rows: [Row] = [
    ("RECORD TYPE A (a STRING);", "RECORD TYPE A (a STRING); -- the same", []),
    ("", "CREATE ROLE boss;", ["roleAdded boss"]),
    ("CREATE ROLE boss;", "", ["roleRemoved boss"]),
    ("", "RECORD TYPE A (a STRING QUERYABLE);", ["typeAdded A", "fieldAdded A.a to STRING QUERYABLE"]),
    (
      "", "RECORD TYPE A (GRANT READ TO \"_world\", GRANT READ, WRITE TO \"_icloud\");",
      ["typeAdded A", "grantsChanged A _icloud to READ, WRITE"]
    ),
    ("RECORD TYPE A ();", "", ["typeRemoved A refused"]),
    ("RECORD TYPE A ();", "RECORD TYPE A (a LIST<INT64>);", ["fieldAdded A.a to LIST<INT64>"]),
    ("RECORD TYPE A (a ASSET);", "RECORD TYPE A ();", ["fieldRemoved A.a from ASSET refused"]),
    (
      "RECORD TYPE A (a STRING);", "RECORD TYPE A (a INT64 QUERYABLE);",
      ["fieldTypeChanged A.a from STRING to INT64 refused", "indexesChanged A.a to QUERYABLE"]
    ),
    (
      "RECORD TYPE A (a STRING);", "RECORD TYPE A (a ENCRYPTED STRING);",
      ["fieldTypeChanged A.a from STRING to ENCRYPTED STRING refused"]
    ),
    (
      "RECORD TYPE A (a STRING);", "RECORD TYPE A (a LIST<STRING>);",
      ["fieldTypeChanged A.a from STRING to LIST<STRING> refused"]
    ),
    (
      "RECORD TYPE A (a STRING QUERYABLE);", "RECORD TYPE A (a STRING SORTABLE SEARCHABLE);",
      ["indexesChanged A.a from QUERYABLE to SEARCHABLE SORTABLE"]
    ),
    (
      "RECORD TYPE A ();", "RECORD TYPE A (\"___recordID\" REFERENCE QUERYABLE);",
      ["indexesChanged A.___recordID to QUERYABLE"]
    ),
    ("RECORD TYPE A (n NUMBER);", "RECORD TYPE A (n INT64);", ["fieldTypeChanged A.n from NUMBER to INT64"]),
    (
      "RECORD TYPE A (n NUMBER);", "RECORD TYPE A (n NUMBER PREFERRED AS INT64);",
      ["fieldTypeChanged A.n from NUMBER to NUMBER PREFERRED AS INT64"]
    ),
    (
      "RECORD TYPE A (n NUMBER PREFERRED AS INT64);", "RECORD TYPE A (n NUMBER);",
      ["fieldTypeChanged A.n from NUMBER PREFERRED AS INT64 to NUMBER refused"]
    ),
    (
      "RECORD TYPE A (n NUMBER PREFERRED AS INT64);", "RECORD TYPE A (n DOUBLE);",
      ["fieldTypeChanged A.n from NUMBER PREFERRED AS INT64 to DOUBLE refused"]
    ),
    (
      "RECORD TYPE A (n DOUBLE);", "RECORD TYPE A (n NUMBER);", ["fieldTypeChanged A.n from DOUBLE to NUMBER refused"]
    ),
    (
      "RECORD TYPE A (GRANT READ TO \"_world\");", "RECORD TYPE A (GRANT READ, WRITE TO \"_creator\");",
      ["grantsChanged A _creator to READ, WRITE", "grantsChanged A _world from READ"]
    ),
    (
      "", "RECORD TYPE Users (roles LIST<INT64>, nick STRING, GRANT WRITE TO \"_creator\", GRANT READ TO \"_world\");",
      ["fieldAdded Users.nick to STRING"]
    ),
  ]

  @Test(arguments: rows) func `a change is found and judged as production does`(row: Row) throws {
    let (old, new) = (
      try CKSchema(parsing: "DEFINE SCHEMA " + row.old), try CKSchema(parsing: "DEFINE SCHEMA " + row.new)
    )

    let changes = old.changes(to: new).map { change in
      let name = [change.type, change.field].compactMap { $0 }.joined(separator: ".")
      let words = [
        change.kind.rawValue, name.isEmpty ? nil : name, change.role, change.from.map { "from \($0)" },
        change.to.map { "to \($0)" }, change.isRefused ? "refused" : nil,
      ]
      return words.compactMap { $0 }.joined(separator: " ")
    }

    #expect(changes == row.changes)
  }
}
