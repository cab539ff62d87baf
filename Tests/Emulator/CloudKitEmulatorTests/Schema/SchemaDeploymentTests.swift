import CloudKitEmulator
import CloudKitSchema
import Foundation
import TestSupport
import Testing

/// What a schema may become, in development and in production, and where it is kept.
@Suite(.serialized) struct SchemaDeploymentTests {
  static let container = "iCloud.test"

  static func schema(_ fields: String, _ more: String = "") -> String {
    "DEFINE SCHEMA RECORD TYPE Note (\(fields));\(more)"
  }

  @Test func `development may lose what production does not have`() throws {
    let emulator = try Emulator()
    let load = { (fields: String, more: String) in
      try emulator.importSchema(Self.schema(fields, more), container: Self.container)
    }

    try load("title STRING, n INT64", "RECORD TYPE Gone ();")
    try load("title INT64", "")
    #expect(!emulator.exportSchema(container: Self.container).contains("Gone"))
    try emulator.deploySchema(of: Self.container)
    try load("title INT64 QUERYABLE, extra STRING", "RECORD TYPE New ();")

    let mistakes = [
      ("title STRING", "", "Field 'title' of 'Note' is INT64 and cannot become STRING at line 1, column 33"),
      ("extra STRING", "", "Field 'title' of 'Note' is in production and cannot be removed at line 1, column 27"),
    ]
    for (fields, more, reason) in mistakes {
      let error = #expect(throws: CKSchemaError.self) { try load(fields, more) }
      #expect(error?.reason == reason)
    }
    let gone = #expect(throws: CKSchemaError.self) {
      try emulator.importSchema("DEFINE SCHEMA", container: Self.container)
    }
    #expect(gone?.reason == "Record type 'Note' is in production and cannot be removed at line 1, column 1")
  }

  @Test func `a deployment brings indexes, grants and roles, and takes nothing away`() throws {
    let emulator = try Emulator()
    let export = { emulator.exportSchema(container: Self.container, environment: "production") }
    try emulator.importSchema(
      Self.schema("old STRING, title STRING", "RECORD TYPE Kept ();"),
      container: Self.container,
      environment: "production"
    )
    let development = "CREATE ROLE boss; RECORD TYPE Note (old STRING, title STRING SEARCHABLE, GRANT READ TO boss); "
    try emulator.importSchema(
      "DEFINE SCHEMA \(development) RECORD TYPE Kept ();",
      container: Self.container
    )

    try emulator.deploySchema(of: Self.container)

    #expect(export().contains("title           STRING SEARCHABLE,\n        GRANT READ TO boss"))
    #expect(export().contains("RECORD TYPE Kept ("))
    #expect(export().contains("CREATE ROLE boss;"))
    #expect(throws: CKSchemaError.self) {
      try emulator.importSchema(
        Self.schema("title STRING"),
        container: Self.container,
        environment: "production"
      )
    }
  }

  @Test func `a number may be decided once`() throws {
    let emulator = try Emulator()
    let load = { (type: String) in try emulator.importSchema(Self.schema("n \(type)"), container: Self.container) }

    try load("NUMBER")
    try emulator.deploySchema(of: Self.container)
    try load("NUMBER PREFERRED AS INT64")
    #expect(throws: CKSchemaError.self) { try load("NUMBER PREFERRED AS DOUBLE") }
    #expect(throws: CKSchemaError.self) { try load("STRING") }
    try load("INT64")
  }

  @Test func `an undecided number takes whole ones and others`() throws {
    let fixture = try Fixture.withZone()
    try fixture.emulator.importSchema(Self.schema("n NUMBER"), container: Self.container)

    let answer = try fixture.modify(
      Fixture.save("a", #""n":{"value":3}"#),
      Fixture.save("b", #""n":{"value":3.5}"#),
      Fixture.save("c", #""n":{"value":"x"}"#)
    )

    #expect(answer.outcomes == ["saved", "saved", "BAD_REQUEST"])
    #expect((answer.records[0]["fields"] as? [String: [String: Any]])?["n"]?["type"] as? String == "DOUBLE")
  }

  @Test func `what a write adds has the indexes that fit, as native saves have, and the usual grants`() throws {
    var configuration = EmulatorConfiguration()
    configuration.assumptions.learntTypesIndexSystemFields = false
    let fixture = try Fixture.withZone(configuration)
    let fields = [
      #""s":{"value":"a"}"#, #""i":{"value":1}"#, #""b":{"value":"AA==","type":"BYTES"}"#,
      #""l":{"value":["a"]}"#, #""r":{"value":{"recordName":"x"}}"#,
      #""e":{"value":"x","type":"STRING","isEncrypted":true}"#,
    ]

    _ = try fixture.modify(Fixture.save("a", fields.joined(separator: ",")))

    let text = fixture.emulator.exportSchema(container: Self.container)
    let expected = """
          RECORD TYPE Note (
              "___createTime" TIMESTAMP,
              "___createdBy"  REFERENCE,
              "___etag"       STRING,
              "___modTime"    TIMESTAMP,
              "___modifiedBy" REFERENCE,
              "___recordID"   REFERENCE,
              b               BYTES QUERYABLE SORTABLE,
              e               ENCRYPTED STRING,
              i               INT64 QUERYABLE SORTABLE,
              l               LIST<STRING> QUERYABLE SEARCHABLE,
              r               REFERENCE QUERYABLE,
              s               STRING QUERYABLE SEARCHABLE SORTABLE,
              GRANT WRITE TO "_creator",
              GRANT CREATE TO "_icloud",
              GRANT READ TO "_world"
          );
      """
    #expect(text.contains(expected))
  }

  @Test func `the file keeps indexes, grants and roles`() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      let text = try {
        let fixture = try Fixture(path: path)
        try fixture.emulator.importSchema(SchemaSample.text, container: Self.container)
        try fixture.emulator.deploySchema(of: Self.container)
        try fixture.createZone("notes")
        _ = try fixture.modify(Fixture.save("a", #""learnt":{"value":1}"#))
        return ["development", "production"]
          .map { fixture.emulator.exportSchema(container: Self.container, environment: $0) }
      }()

      let emulator = try Emulator(path: path)

      #expect(text[0].contains("learnt") && !text[1].contains("learnt"))
      for (environment, text) in zip(["development", "production"], text) {
        #expect(emulator.exportSchema(container: Self.container, environment: environment) == text)
      }
    }
  }

  @Test(arguments: [("iCloud.a/b", "development"), ("other", "development"), ("iCloud.test", "staging")])
  func `a container that cannot be is refused`(container: String, environment: String) throws {
    #expect(throws: EmulatorError.self) {
      try Emulator().importSchema("DEFINE SCHEMA", container: container, environment: environment)
    }
  }
}
