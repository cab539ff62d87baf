import CloudKitSchema
import Testing

/// Schemas compared with what a program uses.
struct SchemaUsageTests {
  /// Two types: tasks with a field of two types and a sorted one, and a type that only a query names.
  static var usage: CKSchema.Usage {
    var usage = CKSchema.Usage()
    var task = CKSchema.Usage.TypeUsage(CKSchema.Usage.Count(records: 2, changes: 1))
    task.fields = [
      "due": [CKSchema.FieldType(.timestamp): CKSchema.Usage.Count(changes: 1)],
      "kept": [
        CKSchema.FieldType(.int64): CKSchema.Usage.Count(records: 1),
        CKSchema.FieldType(.string): CKSchema.Usage.Count(changes: 5),
      ],
      "n": [
        CKSchema.FieldType(.int64): CKSchema.Usage.Count(records: 2),
        CKSchema.FieldType(.string): CKSchema.Usage.Count(records: 1),
      ],
      "size": [
        CKSchema.FieldType(.int64): CKSchema.Usage.Count(records: 1),
        CKSchema.FieldType(.double): CKSchema.Usage.Count(records: 1),
      ],
      "tags": [CKSchema.FieldType(.string, isList: true): CKSchema.Usage.Count(records: 1)],
    ]
    task.queries = ["___modTime": .sortable, "due": [.queryable, .sortable]]
    usage.types["Task"] = task
    usage.types["Old"] = CKSchema.Usage.TypeUsage()
    usage.types["Old"]?.queries = ["___recordID": .queryable]
    return usage
  }

  @Test func `a schema is inferred with counts and the indexes of queries`() throws {
    let schema = Self.usage.schema

    #expect(
      schema.description == """
        DEFINE SCHEMA

            RECORD TYPE Old (
                "___recordID" REFERENCE QUERYABLE, // used by queries
                GRANT WRITE TO "_creator",
                GRANT CREATE TO "_icloud",
                GRANT READ TO "_world"
            );

            RECORD TYPE Task ( // 2 records, 1 unsent change
                "___modTime" TIMESTAMP SORTABLE, // used by queries
                due          TIMESTAMP QUERYABLE SORTABLE, // 1 unsent change; used by queries
                kept         INT64, // 1 record; 5 unsent changes as STRING
                n            INT64, // 2 records; 1 record as STRING
                size         DOUBLE, // 1 record; 1 record as INT64
                tags         LIST<STRING>, // 1 record
                GRANT WRITE TO "_creator",
                GRANT CREATE TO "_icloud",
                GRANT READ TO "_world"
            );

        """
    )
    #expect(try CKSchema(parsing: schema.description) == schema)
    #expect(schema.formatted == schema.description)
  }

  static let rows: [(schema: String, problems: [String])] = [
    ("", ["missingType Old", "missingType Task 2+1"]),
    (
      "RECORD TYPE Old (\"___recordID\" REFERENCE QUERYABLE); RECORD TYPE Task (n INT64, size NUMBER, kept STRING);",
      [
        "missingField Task.due needs TIMESTAMP 0+1", "otherType Task.kept has STRING needs INT64 1+0",
        "otherType Task.n has INT64 needs STRING 1+0",
        "missingField Task.tags needs LIST<STRING> 1+0", "missingIndex Task.___modTime needs SORTABLE",
      ]
    ),
    (
      """
      RECORD TYPE Old ();
      RECORD TYPE Task ("___modTime" TIMESTAMP SORTABLE, due TIMESTAMP QUERYABLE, n STRING, size DOUBLE, tags STRING,
        kept INT64);
      """,
      [
        "missingIndex Old.___recordID needs QUERYABLE", "otherType Task.kept has INT64 needs STRING 0+5",
        "otherType Task.n has STRING needs INT64 2+0",
        "otherType Task.size has DOUBLE needs INT64 1+0", "otherType Task.tags has STRING needs LIST<STRING> 1+0",
        "missingIndex Task.due has QUERYABLE needs SORTABLE",
      ]
    ),
  ]

  @Test(arguments: rows) func `what a server refuses is found`(row: (schema: String, problems: [String])) throws {
    let schema = try CKSchema(parsing: "DEFINE SCHEMA " + row.schema)

    #expect(schema.problems(of: Self.usage).map(Self.words) == row.problems)
  }

  @Test func `names that no schema can have are found, and predefined types are known`() {
    let long = String(repeating: "a", count: 256)
    var usage = CKSchema.Usage()
    usage.types[long] = CKSchema.Usage.TypeUsage(CKSchema.Usage.Count(records: 1))
    usage.types["cloudkit.share"] = CKSchema.Usage.TypeUsage()
    usage.types["cloudkit.share"]?.fields = [
      "cloudkit.title": [CKSchema.FieldType(.string): CKSchema.Usage.Count(records: 1)],
      long: [CKSchema.FieldType(.string): CKSchema.Usage.Count(records: 1)],
    ]

    let words = CKSchema().problems(of: usage).map(Self.words)

    #expect(words == ["invalidName \(long) 1+0", "invalidName cloudkit.share.\(long) needs STRING 1+0"])
  }

  @Test func `the lines to add make a schema take every use`() throws {
    let schema = try CKSchema(
      parsing: "DEFINE SCHEMA RECORD TYPE Task (n INT64, due TIMESTAMP QUERYABLE, size DOUBLE, kept INT64);"
    )

    #expect(
      schema.additions(for: Self.usage) == """
            RECORD TYPE Old (
                "___recordID" REFERENCE QUERYABLE,
                GRANT WRITE TO "_creator",
                GRANT CREATE TO "_icloud",
                GRANT READ TO "_world"
            );

            RECORD TYPE Task ( // add or change these fields
                "___modTime" TIMESTAMP SORTABLE,
                due          TIMESTAMP QUERYABLE SORTABLE,
                tags         LIST<STRING>
            );

        """
    )
    #expect(Self.usage.schema.additions(for: Self.usage) == nil)
  }

  @Test func `a schema is used as a program that has everything it declares`() throws {
    let schema = try CKSchema(
      parsing: "DEFINE SCHEMA RECORD TYPE A (\"___modTime\" TIMESTAMP SORTABLE, a STRING QUERYABLE, b LIST<INT64>);"
    )
    let usage = CKSchema.Usage(schema)

    #expect(schema.problems(of: usage).isEmpty)
    #expect(
      try CKSchema(parsing: "DEFINE SCHEMA RECORD TYPE A (a STRING);").problems(of: usage).map(Self.words)
        == [
          "missingField A.b needs LIST<INT64>", "missingIndex A.___modTime needs SORTABLE",
          "missingIndex A.a needs QUERYABLE",
        ]
    )
  }

  private static func words(_ problem: CKSchema.Problem) -> String {
    let (records, changes) = (problem.count.records, problem.count.changes)
    let words = [
      problem.kind.rawValue, [problem.type, problem.field].compactMap { $0 }.joined(separator: "."),
      problem.declared.map { "has \($0)" }, problem.needed.map { "needs \($0)" },
      records + changes == 0 ? nil : "\(records)+\(changes)",
    ]
    return words.compactMap { $0 }.joined(separator: " ")
  }
}
