import Foundation
import TestSupport
import Testing

@Suite(.serialized) struct ImportCommandTests {
  private static let cities = """
    {"code": "baku", "label": "Baku", "country": "AZ", "twin": "vienna"}
    {"code": "vienna", "label": "Wien", "country": "AT", "twin": "baku"}
    """
  private static let countries = #"[{"code": "AZ", "people": 10}, {"code": "AT", "people": 9.1}]"#

  @Test func `what one machine exports another imports, into the same zones, and nothing differs`() async throws {
    let cloud = try await Cloud()
    let first = try Machine(cloud)
    try await first.succeed(
      "records",
      "put",
      "--type",
      "City",
      "--name",
      "baku",
      "--zone",
      "towns",
      "label=Baku",
      "people:DOUBLE=2",
      "twin:REFERENCE=wien",
      "since:TIMESTAMP=2026-01-31T12:00:00Z"
    )
    try await first.succeed("records", "put", "--type", "City", "--name", "wien", "label=Wien")
    let export = try await first.succeed("records", "export", "--type", "City").output
    let other = try Machine(try await Cloud())
    let file = try other.folder.write(export, to: "cities.ndjson")

    let result = try await other.succeed("records", "import", file, "--type", "City", "--json").object()
    #expect(result["enqueued"] as? Int == 2)
    let again = try await other.succeed("records", "import", file, "--type", "City", "--json").object()
    #expect(again["unchanged"] as? Int == 2)
    func contents(_ machine: Machine) async throws -> [Data] {
      try await machine.succeed("records", "export").objects().map { record in
        let kept = record.filter { ["recordName", "zone", "fields"].contains($0.key) }
        return try JSONSerialization.data(withJSONObject: kept, options: .sortedKeys)
      }
    }
    #expect(try await contents(other) == contents(first))
    let folder = try await other.fail(2, "records", "import", other.folder.url.path, "--type", "City")
    #expect(folder.contains("is a folder"))
    withExtendedLifetime(cloud) {}
  }

  @Test func `put and import of a name keep the action of the reference, and the text shows it`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    let action = #"twin:REFERENCE={"recordName": "wien", "action": "VALIDATE"}"#
    try await machine.succeed("records", "put", "--type", "City", "--name", "baku", action)
    let file = try machine.folder.write(#"{"code": "baku", "twin": "oslo"}"#, to: "cities.ndjson")

    try await machine.succeed("records", "put", "--name", "baku", "twin=graz")
    let put = try await machine.succeed("records", "get", "baku").output
    try await machine.succeed(
      "records",
      "import",
      file,
      "--type",
      "City",
      "--id",
      "code",
      "--reference",
      "twin=City"
    )
    let imported = try await machine.succeed("records", "get", "baku").output

    #expect(put.contains("twin (REFERENCE) = → graz (VALIDATE)"))
    #expect(imported.contains("twin (REFERENCE) = → oslo (VALIDATE)"))
    withExtendedLifetime(cloud) {}
  }

  @Test func `a schema with encrypted fields is filled by put, edit and import, and exported again`() async throws {
    let home = try Machine()
    let schema = try home.folder.write(
      """
      DEFINE SCHEMA RECORD TYPE Note (
        secret ENCRYPTED STRING, pin ENCRYPTED INT64, born ENCRYPTED TIMESTAMP, words LIST<ENCRYPTED STRING>
      );
      """,
      to: "notes.ckdb"
    )
    let cloud = try await Cloud("--schema", "\(Machine.container)=\(schema)")
    let (machine, other) = (try Machine(cloud), try Machine(cloud, user: "ben"))
    let file = try machine.folder.write(#"{"id": "b", "secret": "x", "pin": 7, "words": ["w"]}"#, to: "notes.ndjson")
    let put = ["records", "put", "--type", "Note", "--name", "a"]

    _ = try await machine.succeeding(put + ["secret=plain", "born:ENCRYPTED_TIMESTAMP=2026-01-31T12:00:00Z"])
    _ = try await machine.run("sync")
    let failed = try #require(try await machine.succeed("queue", "list", "--json").object()["id"] as? Int)
    try await machine.succeed("queue", "edit", "\(failed)", "secret:ENCRYPTED_STRING=hidden")
    try await machine.succeed("sync")
    // The type is known now.
    _ = try await machine.succeeding(put + ["secret=better"])
    let refusal = try await machine.failing(2, put + ["secret:STRING=q"])
    #expect(refusal.contains("secret:ENCRYPTED_STRING="))
    let columns = ["pin=ENCRYPTED_INT64", "words=encrypted_string_list"].flatMap { ["--column", $0] }
    _ = try await machine.succeeding(["records", "import", file, "--type", "Note", "--id", "id"] + columns)
    try await machine.succeed("sync")
    let export = try await machine.succeed("records", "export").output
    let copy = try other.folder.write(export, to: "export.ndjson")
    try await other.succeed("records", "import", copy)
    try await other.succeed("sync")

    for records in [try await machine.succeed("records", "export"), try await other.succeed("records", "export")] {
      let fields = try records.objects().compactMap { $0["fields"] as? [String: [String: Any]] }
      #expect(fields.count == 2)
      #expect(fields.first?["secret"]?["type"] as? String == "ENCRYPTED_STRING")
      #expect(fields.first?["secret"]?["value"] as? String == "better")
      #expect(fields.first?["born"]?["type"] as? String == "ENCRYPTED_TIMESTAMP")
      #expect(fields.last?["words"]?["value"] as? [String] == ["w"])
      #expect(fields.last?["words"]?["type"] as? String == "ENCRYPTED_STRING_LIST")
    }
    withExtendedLifetime(cloud) {}
  }

  @Test func `a secret that is only queued, or failed, stays encrypted`() async throws {
    let machine = try Machine([
      "CLOUDKIT_CONTAINER": Machine.container, "CLOUDKIT_URL": "http://127.0.0.1:9", "CLOUDKIT_DATABASE": "private",
    ])
    let put = ["records", "put", "--type", "Note", "--name"]
    _ = try await machine.succeeding(put + ["a", "secret:ENCRYPTED_STRING=x"])

    for name in ["a", "b"] {
      let refusal = try await machine.failing(2, put + [name, "secret:STRING=plain"])
      #expect(refusal.contains("secret:ENCRYPTED_STRING="))
    }
    let file = try machine.folder.write("secret\nplain\n", to: "notes.csv")
    _ = try await machine.failing(2, ["records", "import", file, "--type", "Note", "--column", "secret=STRING"])
    _ = try await machine.succeeding(put + ["a", "secret=better"])

    let fields = try await machine.succeed("records", "get", "a", "--json").object()["fields"] as? [String: Any]
    #expect((fields?["secret"] as? [String: Any])?["type"] as? String == "ENCRYPTED_STRING")
  }

  @Test func `a field that was cleared stays encrypted, and a dry run sees records of another type`() async throws {
    let machine = try Machine([
      "CLOUDKIT_CONTAINER": Machine.container, "CLOUDKIT_URL": "http://127.0.0.1:9", "CLOUDKIT_DATABASE": "private",
    ])
    let put = ["records", "put", "--type", "Note", "--name"]
    _ = try await machine.succeeding(put + ["a", "pin:ENCRYPTED_STRING=a"])
    _ = try await machine.succeeding(put + ["a", "pin="])

    let refusal = try await machine.failing(2, put + ["b", "pin:STRING=plain"])
    #expect(refusal.contains("pin:ENCRYPTED_STRING="))
    _ = try await machine.succeeding(put + ["b", "pin=zz"])
    let fields = try await machine.succeed("records", "get", "b", "--json").object()["fields"] as? [String: Any]
    #expect((fields?["pin"] as? [String: Any])?["type"] as? String == "ENCRYPTED_STRING")

    let file = try machine.folder.write("id,x\na,1\nnew,1\n", to: "other.csv")
    let tried = try await machine.running(["records", "import", file, "--type", "Other", "--id", "id", "--dry-run"])
    #expect(tried.output.contains("would enqueue at most 1, refused 1"))
  }

  @Test func `an export of several types is imported without naming a type`() async throws {
    let cloud = try await Cloud()
    let (first, other) = (try Machine(cloud), try Machine(cloud, user: "ben"))
    try await first.succeed("records", "put", "--type", "City", "--name", "wien", "label=Wien", "size=2")
    try await first.succeed("records", "put", "--type", "Country", "--name", "at", "label=Austria", "size:DOUBLE=1.5")
    let file = try other.folder.write(try await first.succeed("records", "export").output, to: "all.ndjson")
    let mixed = try other.folder.write(
      try String(contentsOfFile: file, encoding: .utf8) + "{\"label\": \"Graz\"}\n",
      to: "mixed.ndjson"
    )

    let result = try await other.succeed("records", "import", file, "--json").object()
    let part = try await other.run("records", "import", mixed)
    let named = try await other.run("records", "import", file, "--type", "City")
    try await other.fail(2, "records", "import", file, "--id", "label")
    let share = #"{"recordName": "s", "recordType": "cloudkit.share", "zone": "cktop", "fields": {}}"#
    let lines = try String(contentsOfFile: file, encoding: .utf8)
    let shared = try other.folder.write("\(share)\n\(lines)", to: "shared.ndjson")
    let withoutShare = try await other.succeed("records", "import", shared, "--json")
    #expect(try withoutShare.object()["shares"] as? Int == 1 && withoutShare.object()["unchanged"] as? Int == 2)
    #expect(withoutShare.error.contains("1 share") && withoutShare.error.contains("line 1"))

    #expect(result["enqueued"] as? Int == 2)
    let types = try await other.succeed("records", "export").objects().map { $0["recordType"] as? String }
    #expect(types == ["Country", "City"])
    #expect(part.status == 1 && part.error.contains("line 3: ") && part.error.contains("--type"))
    #expect(named.status == 1 && named.error.contains("line 1: the record is a Country"))
    withExtendedLifetime(cloud) {}
  }

  @Test func `references come in any order, and a second store that fetches all is equal`() async throws {
    let cloud = try await Cloud()
    let first = try Machine(cloud)
    let cities = try first.folder.write(Self.cities, to: "cities.ndjson")
    let countries = try first.folder.write(Self.countries, to: "countries.json")

    let import1 = try await first.succeed(
      "records",
      "import",
      cities,
      "--type",
      "City",
      "--id",
      "code",
      "--reference",
      "country=Country",
      "--reference",
      "twin=City",
      "--json"
    )
    try await first.succeed("records", "import", countries, "--type", "Country", "--id", "code")
    let sync = try await first.succeed("sync", "--json")
    let second = try Machine(cloud)
    try await second.succeed("sync")

    #expect(try import1.object()["enqueued"] as? Int == 2)
    #expect(try sync.object()["sent"] as? Int == 4)
    #expect(try await second.succeed("records", "list", "--json").lines.count == 4)
    for machine in [first, second] {
      let zones = try await machine.succeed("verify", "--json").objects()
      #expect(zones.allSatisfy { $0["onlyLocal"] as? Int == 0 && $0["onlyServer"] as? Int == 0 })
      #expect(zones.contains { $0["zone"] as? String == "cktop" && $0["different"] as? Int == 0 })
    }
    let baku = try await second.succeed("records", "get", "baku", "--json").object()
    let country = try #require((baku["fields"] as? [String: [String: Any]])?["country"])
    #expect(country["type"] as? String == "REFERENCE")
    #expect((country["value"] as? [String: Any])?["action"] as? String == "NONE")
  }

  @Test func `importing again enqueues only what differs`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    let file = try machine.folder.write("code,people\nAZ,10\nAT,9\n", to: "countries.csv")
    try await machine.succeed("records", "import", file, "--type", "Country", "--id", "code")
    try await machine.succeed("sync")
    _ = try machine.folder.write("code,people\nAZ,10\nAT,8\nDE,84\n", to: "countries.csv")

    let again = try await machine.succeed("records", "import", file, "--type", "Country", "--id", "code", "--json")
      .object()

    #expect(again["read"] as? Int == 3)
    #expect(again["enqueued"] as? Int == 2)
    #expect(again["unchanged"] as? Int == 1)
  }

  @Test func `lines that cannot be imported are listed with their numbers and the rest is enqueued`() async throws {
    let machine = try Machine(try await Cloud())
    let file = try machine.folder.write(
      "{\"id\": \"a\", \"n\": 1}\nnot json\n{\"id\": \"b\", \"n\": {\"deep\": 1}}\n{\"id\": \"c\", \"n\": 2}\n",
      to: "rows.ndjson"
    )

    let end = try await machine.run("records", "import", file, "--type", "Row", "--id", "id", "--json")
    let people = try await machine.run("records", "import", file, "--type", "Row", "--id", "id")

    #expect(end.status == 1)
    let object = try end.object()
    #expect(object["enqueued"] as? Int == 2)
    #expect((object["refused"] as? [[String: Any]])?.map { $0["line"] as? Int } == [2, 3])
    #expect(people.status == 1)
    #expect(
      people.lines == [
        "read 4, enqueued 0, unchanged 2, refused 2", "  id STRING: the type it has in queued changes",
        "  n INT64: the type it has in queued changes",
      ]
    )
    #expect(people.error.contains("cktop: line 2: "))
  }

  @Test func `the result names each column's type and why, and a type can be given`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    let other = try Machine(cloud)
    let file = try machine.folder.write(
      "id,price,version,code\na,9.90,1.9,713752\nb,10.50,1.10,12E12\n",
      to: "rows.csv"
    )
    func columns(on machine: Machine, _ more: String...) async throws -> [String] {
      let end = try await machine.succeeding(
        ["records", "import", file, "--type", "Row", "--id", "id", "--json"] + more
      )
      return try #require(try end.object()["columns"] as? [[String: Any]]).map {
        "\($0["field"] ?? "") \($0["type"] ?? ""): \($0["reason"] ?? "")"
      }
    }

    #expect(
      try await columns(on: machine) == [
        "id STRING: line 2 has the text 'a'", "price DOUBLE: numbers with decimal places",
        "version STRING: as a number, '1.10' of line 3 would not stay as written",
        "code STRING: as a number, '12E12' of line 3 would not stay as written",
      ]
    )
    #expect(
      try await columns(on: other, "--column", "price=STRING", "--column", "code=double")[1...].map(\.self) == [
        "price STRING: as given", "version STRING: as a number, '1.10' of line 3 would not stay as written",
        "code DOUBLE: as given",
      ]
    )
    try await machine.succeed("sync")
    let wrong = ["records", "import", file, "--type", "Row", "--column", "price=INT64"]
    #expect(try await machine.failing(2, wrong).contains("price is DOUBLE already"))
    let header = try machine.folder.write("id,my field\n1,2\n3,4\n", to: "header.csv")
    #expect(try await machine.fail(2, "records", "import", header, "--type", "Row").contains("'my field'"))
  }

  @Test func `queued changes that disagree about a type are named before anything is enqueued`() async throws {
    let machine = try Machine(try await Cloud())
    try await machine.succeed("records", "put", "--type", "Row", "price=cheap")
    let file = try machine.folder.write(
      "{\"id\": \"a\", \"price\": 1}\n{\"id\": \"b\", \"price\": 2.5}\n",
      to: "r.ndjson"
    )
    let arguments = ["records", "import", file, "--type", "Row", "--id", "id", "--json"]
    func price(_ more: String...) async throws -> (type: String?, warning: String?, enqueued: Int?, error: String) {
      let end = try await machine.succeeding(arguments + more)
      let object = try end.object()
      let column = (object["columns"] as? [[String: Any]])?.first { $0["field"] as? String == "price" }
      return (
        column?["type"] as? String, column?["warning"] as? String, object["enqueued"] as? Int, end.error
      )
    }
    func queued() async throws -> Int { try await machine.succeed("queue", "list", "--json").objects().count }

    let tried = try await price("--dry-run")
    #expect(tried.type == "STRING" && tried.enqueued == 2 && tried.error.contains("cktop: price is STRING"))
    #expect(tried.error.contains(try #require(tried.warning)))
    #expect(try await queued() == 1)
    let given = try await price("--dry-run", "--column", "price=DOUBLE")
    #expect(given.type == "DOUBLE" && given.warning != nil)
    #expect(try await queued() == 1)
    let done = try await price()
    #expect(done.type == "STRING" && done.warning == tried.warning && done.error.contains("cktop: price is STRING"))
    #expect(try await queued() == 3)
  }

  @Test func `a dry run makes no store, and lists what cannot be imported`() async throws {
    let machine = try Machine(try await Cloud())
    let file = try machine.folder.write("id,d\na,2026-12-31\nb,2026-12-31T12:00:00\n", to: "rows.csv")
    let arguments = ["records", "import", file, "--type", "Row", "--id", "id", "--column", "d=TIMESTAMP"]

    let tried = try await machine.running(arguments + ["--dry-run"])
    let status = try await machine.succeed("status", "--json").object()

    #expect(tried.status == 1)
    #expect(tried.lines.first == "read 2, would enqueue at most 1, refused 1; nothing was enqueued")
    #expect(tried.lines.last?.contains("'2026-12-31' of line 2") == true && tried.output.contains("midnight UTC"))
    #expect(tried.error.contains("line 3: "))
    #expect((status["queue"] as? [String: Any])?["total"] as? Int == 0)
    _ = try await machine.failing(4, ["queue", "list"])
    #expect(try await machine.running(arguments).status == 1)
    let record = try await machine.succeed("records", "get", "a", "--json").object()
    let date = try #require((record["fields"] as? [String: [String: Any]])?["d"])
    #expect(date["value"] as? Int == 1_798_675_200_000)
  }

  @Test(arguments: ["note.csv", "note.ndjson"])
  func `a dry run of records whose names are made takes the lines that an import takes`(_ name: String) async throws {
    let machine = try Machine(["CLOUDKIT_CONTAINER": Machine.container])
    let lines = name.hasSuffix("csv") ? ["title", "one", "two"] : [#"{"title": "one"}"#, #"{"title": "two"}"#]
    let file = try machine.folder.write(lines.joined(separator: "\n") + "\n", to: name)
    let arguments = ["records", "import", file, "--type", "Note"]

    // Without a store, then with one.
    for _ in 0..<2 {
      let tried = try await machine.running(arguments + ["--dry-run"])
      #expect(tried.status == 0 && tried.error == "")
      #expect(tried.lines.first == "read 2, would enqueue at most 2, refused 0; nothing was enqueued")
      let object = try await machine.running(arguments + ["--dry-run", "--json"]).object()
      #expect(object["enqueued"] as? Int == 2 && (object["refused"] as? [Any])?.isEmpty == true)
      let imported = try await machine.running(arguments)
      #expect(imported.lines.first == "read 2, enqueued 2, unchanged 0, refused 0")
    }
  }

  @Test func `an empty cell clears a field where that is wanted, and importing again changes nothing`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    let full = try machine.folder.write("id,n,s\na,1,x\nb,2,y\n", to: "full.csv")
    let part = try machine.folder.write("id,n,s\na,,\nb,2,\n", to: "part.csv")
    func enqueued(_ file: String, _ more: String...) async throws -> Int? {
      let arguments = ["records", "import", file, "--type", "Row", "--id", "id", "--json"] + more
      return try await machine.succeeding(arguments).object()["enqueued"] as? Int
    }
    func fields(_ name: String) async throws -> [String] {
      let record = try await machine.succeed("records", "get", name, "--json").object()
      return try #require(record["fields"] as? [String: Any]).keys.sorted()
    }

    #expect(try await enqueued(full) == 2)
    try await machine.succeed("sync")
    #expect(try await enqueued(part) == 0)
    #expect(try await enqueued(part, "--empty", "clear") == 2)
    #expect(try await enqueued(part, "--empty", "clear") == 0)
    try await machine.succeed("sync")
    #expect(try await enqueued(part, "--empty", "clear") == 0)
    #expect(try await fields("a") == ["id"])
    #expect(try await fields("b") == ["id", "n"])
    #expect(try await enqueued(part, "--empty", "text") == 2)
    withExtendedLifetime(cloud) {}
  }

  @Test func `an empty list imported again is no change`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    let file = try machine.folder.write(
      "{\"id\": \"g1\", \"tags\": [\"x\"]}\n{\"id\": \"g2\", \"tags\": []}\n",
      to: "groups.ndjson"
    )
    let arguments = ["records", "import", file, "--type", "Group", "--id", "id", "--json"]

    #expect(try await machine.succeeding(arguments).object()["enqueued"] as? Int == 2)
    try await machine.succeed("sync")
    #expect(try await machine.succeeding(arguments).object()["unchanged"] as? Int == 2)
    try await machine.succeed("sync")
    #expect(try await machine.succeed("verify", "--json").objects().allSatisfy { $0["different"] as? Int == 0 })
    withExtendedLifetime(cloud) {}
  }

  @Test func `one object on standard input is one record, and a format can be given`() async throws {
    let machine = try Machine(try await Cloud())
    let file = try machine.folder.write("{\n  \"id\": \"oslo\",\n  \"people\": 700000\n}\n", to: "one")
    let lines = try machine.folder.write("{\"id\": \"a\"}\n{\"id\": \"b\"}\n", to: "lines.json")
    let error = machine.folder.path("error")
    let process = try Child(
      "/bin/sh",
      ["-c", #"cat "$1" | exec "$0" records import - --type City --id id"#, Binary.cktop().path, file],
      environment: machine.environment,
      in: machine.folder.url.path,
      output: machine.folder.path("output"),
      error: error
    )

    let end = await process.end()
    let complaint = try String(contentsOfFile: error, encoding: .utf8)
    #expect(end == .exited(0), "\(complaint)")
    #expect(try await machine.succeed("records", "get", "oslo", "--json").object()["recordType"] as? String == "City")
    #expect(try await machine.fail(2, "records", "import", lines, "--type", "City").contains("--format ndjson"))
    try await machine.succeed("records", "import", lines, "--type", "City", "--id", "id", "--format", "ndjson")
    #expect(try await machine.fail(2, "records", "import", lines, "--type", "City", "--format", "xml").contains("xml"))
  }

  @Test func `a record over 1 MB is refused with its line`() async throws {
    let machine = try Machine(try await Cloud())
    let text = String(repeating: "x", count: 1_000_001)
    let file = try machine.folder.write(
      "{\"id\": \"big\", \"t\": \"\(text)\"}\n{\"id\": \"small\", \"t\": \"x\"}\n",
      to: "big.ndjson"
    )

    let end = try await machine.run("records", "import", file, "--type", "Row", "--id", "id", "--json")
    let put = try await machine.fail(
      2,
      "records",
      "put",
      "--type",
      "Row",
      "t=\(text.prefix(100_000))",
      "u=\(text.prefix(100_000))",
      "t=1"
    )

    #expect(end.status == 1)
    #expect(try end.object()["enqueued"] as? Int == 1)
    #expect(end.output.contains("1000000"))
    #expect(put.contains("t is set twice"))
  }
}
