import Foundation
import TestSupport
import Testing

/// `cktop schema`: files, the store's data, and a served cloud that behaves as production.
@Suite(.serialized) struct SchemaCommandTests {
  private static let old = """
    DEFINE SCHEMA
      -- Things to do.
      RECORD TYPE Task (title STRING QUERYABLE, n INT64);
    """

  @Test func `files are compared, formatted and validated without a store and a container`() async throws {
    let machine = try Machine()
    let old = try machine.folder.write(Self.old, to: "old.ckdb")
    let new = try machine.folder.write(
      "DEFINE SCHEMA RECORD TYPE Task (title STRING, n INT64, due TIMESTAMP);",
      to: "new.ckdb"
    )
    let gone = try machine.folder.write("DEFINE SCHEMA RECORD TYPE Task (n STRING);", to: "gone.ckdb")

    let allowed = try await machine.succeed("schema", "diff", old, new, "--json").objects()
    #expect(allowed.map { $0["change"] as? String } == ["fieldAdded", "indexesChanged"])
    #expect(allowed.allSatisfy { $0["refused"] as? Bool == false && $0["type"] as? String == "Task" })
    let refused = try await machine.run("schema", "diff", old, gone, "--json")
    #expect(refused.status == 1)
    #expect(try refused.objects().map { $0["change"] as? String } == ["fieldTypeChanged", "fieldRemoved"])
    #expect(try await machine.succeed("schema", "diff", old, old).lines.count == 1)

    let check = try await machine.run("schema", "check", old, new, "--json")
    #expect(check.status == 1)
    #expect(try check.objects().map { $0["problem"] as? String } == ["missingField"])
    #expect((try check.object()["lines"] as? String)?.contains("due TIMESTAMP") == true)
    try await machine.succeed("schema", "check", new, new)

    let formatted = try await machine.succeed("schema", "format", old).output
    #expect(formatted.contains("    -- Things to do.\n    RECORD TYPE Task (\n        title STRING QUERYABLE,\n"))
    try await machine.succeed("schema", "validate", old)
    let marked = try machine.folder.write("\u{FEFF}" + Self.old, to: "marked.ckdb")
    #expect(try await machine.succeed("schema", "format", marked).output == formatted)
    let wrong = try machine.folder.write("DEFINE SCHEMA\n RECORD TYPE Task (a);", to: "wrong.ckdb")
    #expect(try await machine.fail(1, "schema", "validate", wrong).contains("line 2, column 21"))
    #expect(try await machine.fail(2, "schema", "format", wrong).contains("line 2, column 21"))
    try await machine.fail(2, "schema", "format", machine.folder.path("none.ckdb"))
    // What a child process reads from its standard input here is nothing at all.
    #expect(try await machine.fail(2, "schema", "format", "-").contains("standard input"))
  }

  @Test func `a type without the indexes that polling needs is named with the way to them, and needs a person`()
    async throws
  {
    let home = try Machine()
    let schema = try home.folder.write(
      "DEFINE SCHEMA RECORD TYPE Task (n INT64, GRANT READ TO \"_world\", GRANT CREATE TO \"_icloud\");",
      to: "bare.ckdb"
    )
    let cloud = try await Cloud("--schema", "\(Machine.container)=\(schema)")
    let machine = try Machine(cloud, ["CLOUDKIT_DATABASE": "public"])
    try await machine.succeed("records", "put", "--type", "Task", "--name", "a", "n=1")

    for _ in 0..<2 {
      let failure = try await machine.fail(3, "sync")
      #expect(failure.contains("Task") && failure.contains("cktop schema infer --type Task"))
    }
    #expect(try await machine.run("status").status == 3)
    withExtendedLifetime(cloud) {}
  }

  @Test func `what production lacks is found before it refuses it, and is taken once it is deployed`() async throws {
    let home = try Machine()
    let deployed = try home.folder.write("\u{FEFF}" + Self.old, to: "deployed.ckdb")
    let production = ["CLOUDKIT_ENVIRONMENT": "production", "CLOUDKIT_DATABASE": "private"]
    let cloud = try await Cloud("--admin", "--schema", "\(Machine.container)=\(deployed)", "--deploy-schema")
    let machine = try Machine(cloud, production)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "a", "title=x")
    try await machine.succeed("sync")
    for name in ["b", "c"] {
      try await machine.succeed("records", "put", "--type", "Task", "--name", name, "due:TIMESTAMP=1")
    }
    try await machine.succeed("records", "put", "--type", "Customer", "--name", "d", "city=Bonn")

    let check = try await machine.run("schema", "check", deployed, "--json")
    #expect(check.status == 1)
    let problems = try check.objects()
    #expect(problems.map { $0["problem"] as? String } == ["missingType", "missingField"])
    #expect(problems.map { $0["type"] as? String } == ["Customer", "Task"])
    #expect(problems.map { $0["field"] as? String } == [nil, "due"])
    #expect(problems.map { $0["changes"] as? Int } == [1, 2])
    #expect(problems[1]["operations"] as? [Int] == [3, 4] || (problems[1]["operations"] as? [Int])?.count == 2)
    // The schema of the server is the same as the file.
    #expect(try await machine.run("schema", "check", "--json").output == check.output)
    let text = try await machine.run("schema", "check", deployed)
    #expect(text.status == 1 && text.output.contains("RECORD TYPE Task ( // add or change these fields"))

    // Production refuses exactly those.
    #expect(try await machine.run("sync").status == 1)
    let failed = try await machine.succeed("queue", "list", "--json").objects()
    #expect(failed.count == 3 && failed.allSatisfy { $0["state"] as? String == "failed" })
    // In development, they would have been added.
    let developer = try Machine(cloud, ["CLOUDKIT_DATABASE": "private"])
    try await developer.succeed("records", "put", "--type", "Customer", "--name", "d", "city=Bonn")
    try await developer.succeed("sync")
    #expect(try await developer.succeed("schema", "export").output.contains("city"))

    let inferred = try await machine.succeed("schema", "infer").output
    #expect(inferred.contains("due   TIMESTAMP, // 2 unsent changes"))
    let next = try machine.folder.write(inferred, to: "next.ckdb")
    #expect(try await machine.fail(1, "schema", "import", next, "--yes").contains("production refuses"))
    let merged = inferred.replacingOccurrences(of: "RECORD TYPE Task (", with: "RECORD TYPE Task ( n INT64,")
    let whole = try machine.folder.write(merged, to: "whole.ckdb")
    let preview = try await machine.succeed("schema", "import", whole, "--dry-run", "--json").objects()
    #expect(preview.contains { $0["change"] as? String == "typeAdded" && $0["type"] as? String == "Customer" })
    #expect(try await machine.fail(2, "schema", "import", whole).contains("--yes"))
    try await machine.succeed("schema", "import", whole, "--yes")

    try await machine.succeed("schema", "check")
    try await machine.succeed("queue", "retry", "--all")
    try await machine.succeed("sync")
    #expect(try await machine.succeed("queue", "list", "--json").output == "")
    withExtendedLifetime(cloud) {}
  }

  @Test func `the indexes of polled queries are part of the schema`() async throws {
    let cloud = try await Cloud("--admin")
    let machine = try Machine(cloud, ["CLOUDKIT_DATABASE": "public"])
    try await machine.succeed("records", "put", "--type", "Task", "--name", "a", "title=x")
    try await machine.succeed("sync")
    let file = try machine.folder.write("DEFINE SCHEMA RECORD TYPE Task (title STRING);", to: "plain.ckdb")

    let problems = try await machine.run("schema", "check", file, "--json").objects()
    #expect(problems.map { $0["problem"] as? String } == ["missingIndex", "missingIndex"])
    #expect(problems.map { $0["field"] as? String } == ["___modTime", "___recordID"])
    #expect(problems.map { $0["needed"] as? String } == ["SORTABLE", "QUERYABLE"])
    #expect(
      try await machine.succeed("schema", "infer", "--type", "Task").output.contains(
        "\"___modTime\"  TIMESTAMP SORTABLE"
      )
    )
    try await machine.fail(1, "schema", "infer", "--type", "None")
    try await machine.succeed("schema", "check")
    withExtendedLifetime(cloud) {}
  }

  @Test func `a server without the admin endpoint, or with a token, says what it needs`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)

    #expect(try await machine.fail(1, "schema", "export").contains("--admin"))
    #expect(
      try await Machine(["CLOUDKIT_CONTAINER": Machine.container]).fail(2, "schema", "export").contains("--url")
    )
    let nowhere = ["CLOUDKIT_URL": "http://127.0.0.1:1"]
    try await machine.fail(5, "schema", "export", settings: nowhere)
    try await machine.fail(
      2,
      "schema",
      "import",
      "x.ckdb",
      "--yes",
      settings: ["CKTOP_READ_ONLY": "1"]
    )
    withExtendedLifetime(cloud) {}
  }
}
