import Foundation
import TestSupport
import Testing

@Suite(.serialized) struct BadInputCommandTests {
  private static let settings = ["CLOUDKIT_CONTAINER": Machine.container, "CLOUDKIT_URL": "http://127.0.0.1:9"]

  @Test func `with nothing configured one line names the demo`() async throws {
    let machine = try Machine()

    #expect(try await machine.fail(2).contains("cktop demo"))
    #expect(try await machine.fail(2, "status").contains("cktop demo"))
    #expect(try await machine.run("--version").status == 0)
  }

  @Test func `an output that is cut off is told`() async throws {
    let machine = try Machine()
    let error = machine.folder.path("error")
    let process = try Child(
      Binary.cktop().path,
      ["themes"],
      environment: machine.environment,
      in: machine.folder.url.path,
      output: "/dev/full",
      error: error
    )

    #expect(await process.end() == .exited(1))
    #expect(try String(contentsOfFile: error, encoding: .utf8).hasPrefix("cktop: the output cannot be written"))
  }

  @Test func `an argument that is no text is refused, not changed`() async throws {
    let machine = try Machine(Self.settings)
    let error = machine.folder.path("error")
    let process = try Child(
      "/bin/sh",
      ["-c", #"exec "$0" records put --type Task --name a "x=$(printf 'a\377b')""#, Binary.cktop().path],
      environment: machine.environment,
      in: machine.folder.url.path,
      output: machine.folder.path("output"),
      error: error
    )

    #expect(await process.end() == .exited(2))
    #expect(
      try String(contentsOfFile: error, encoding: .utf8)
        == "cktop: argument 7 is not UTF-8; give it as UTF-8, or import it from a file\n"
    )
  }

  @Test func `looking at or commanding a store that does not exist fails and makes nothing`() async throws {
    let machine = try Machine(Self.settings)

    let status = try await machine.run("status", "--json").object()
    for verb in ReadingCommandTests.reading + ReadingCommandTests.commanding {
      #expect(try await machine.failing(4, verb).contains("cktop sync"))
    }

    #expect((status["queue"] as? [String: Any])?["total"] as? Int == 0)
    #expect((status["sync"] as? [String: Any])?["inSync"] as? Bool == false)
    #expect(!FileManager.default.fileExists(atPath: machine.folder.path("state")))
  }

  @Test func `a store that cannot be opened, is none, or is damaged is left as it is`() async throws {
    let machine = try Machine(Self.settings)
    let junk = try machine.folder.write("this is no database", to: "junk.sqlite")
    try await machine.succeed("records", "put", "--type", "Task", "--store", machine.folder.path("good.sqlite"), "a=1")
    let damaged = machine.folder.path("damaged.sqlite")
    var bytes = try Data(contentsOf: URL(fileURLWithPath: machine.folder.path("good.sqlite")))
    bytes.replaceSubrange(4096..<bytes.count, with: repeatElement(0xA5, count: bytes.count - 4096))
    try bytes.write(to: URL(fileURLWithPath: damaged))

    for path in [junk, damaged, machine.folder.url.path] {
      for verb in ["status", "sync", "queue"] { try await machine.fail(4, verb, "--store", path) }
    }

    #expect(try String(contentsOfFile: junk, encoding: .utf8) == "this is no database")
    #expect(try Data(contentsOf: URL(fileURLWithPath: damaged)) == bytes)
  }

  @Test func `a salvage says what to give where the store cannot, and takes it`() async throws {
    let machine = try Machine(Self.settings)
    let (path, new) = (machine.folder.path("lost.sqlite"), machine.folder.path("new.sqlite"))
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "--store", path, "a=1")
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    let container = try #require(Self.settings["CLOUDKIT_CONTAINER"])
    let page = try #require(bytes.range(of: Data(container.utf8))).lowerBound / 4096 * 4096
    bytes.replaceSubrange(page..<page + 4096, with: repeatElement(0xA5, count: 4096))
    try bytes.write(to: URL(fileURLWithPath: path))
    let salvage = ["queue", "salvage", "--store", path, "--into", new]

    let refusal = try await machine.failing(4, salvage)
    let saved = try await machine.succeeding(salvage + ["--environment", "development", "--database", "public"])

    #expect(refusal.hasSuffix("cannot be read; give --environment and --database"))
    #expect(saved.lines == ["saved 1 change in \(new); none is lost"])
    #expect(try await machine.succeed("queue", "list", "--store", new, "--json").objects().count == 1)
  }

  @Test func `a store for another container is refused`() async throws {
    let machine = try Machine(Self.settings)
    let store = machine.folder.path("one.sqlite")
    try await machine.succeed("records", "put", "--type", "Task", "--store", store, "a=1")

    #expect(
      try await machine.fail(4, "status", "--store", store, "--container", "iCloud.other").contains("iCloud.other")
    )
    try await machine.fail(4, "status", "--store", store, "--environment", "production")
    // What nothing names is taken from the store.
    let bare = try await machine.run("status", "--json", "--store", store, settings: ["CLOUDKIT_CONTAINER": ""])
    #expect(try bare.object()["container"] as? String == Machine.container)
  }

  @Test func `credentials go to another machine over http only if that is allowed`() async throws {
    let machine = try Machine(["CLOUDKIT_API_TOKEN": "t", "CLOUDKIT_WEB_AUTH_TOKEN": "w"])
    for verb in ["sync", "account"] {
      let line = try await machine.fail(
        2,
        verb,
        "--container",
        "iCloud.org.example.a",
        "--url",
        "http://sync.example.org"
      )
      #expect(line.contains("http://sync.example.org") && line.contains("--allow-http"))
    }
  }

  @Test func `read-only accepts no verb that changes anything, wherever it is said`() async throws {
    let machine = try Machine(Self.settings)
    let changing = [
      ["records", "put", "--type", "Task", "a=1"], ["records", "delete", "x"], ["zones", "create", "Z"], ["sync"],
      ["queue", "retry", "--all"], ["queue", "flush"], ["conflicts", "resolve", "1", "--take", "local"],
    ]

    for arguments in changing {
      let line = try await machine.failing(2, arguments + ["--read-only"])
      #expect(line.contains("read-only"))
    }
    try await machine.fail(2, "--read-only", "queue", "flush")
    try await machine.fail(2, "queue", "flush", settings: ["CKTOP_READ_ONLY": "1"])
    try await machine.fail(4, "--read-only", "queue", "list")
    #expect(!FileManager.default.fileExists(atPath: machine.folder.path("state")))
  }

  @Test func `where nothing says which database a change goes to, that is said`() async throws {
    let machine = try Machine(Self.settings)

    let guess = try await machine.run("records", "put", "--type", "Task", "count=1")
    let named = try await machine.run("--database", "private", "records", "put", "--type", "Task", "count=1")

    #expect(guess.status == 0 && named.status == 0)
    #expect(guess.error.hasPrefix("cktop: no database is given, so the public one is used"))
    #expect(named.error == "")
  }

  @Test func `a deletion says that it is one, and of what was never sent that it is taken back`() async throws {
    let machine = try Machine(Self.settings)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "count=1")

    let record = try await machine.succeed("records", "delete", "t1", "--yes").output
    try await machine.succeed("--database", "private", "zones", "create", "Work")
    let zone = try await machine.run("--database", "private", "zones", "delete", "Home", "--yes")

    #expect(record.hasPrefix("cancelled the unsent Task t1 in zone"))
    #expect(zone.status == 0 && zone.output.hasPrefix("enqueued the deletion of zone Home"))
    #expect(zone.error.contains("no zone Home is known locally"))
  }

  @Test func `a zone that is not known locally is named in a note`() async throws {
    let machine = try Machine(Self.settings.merging(["CLOUDKIT_DATABASE": "private"]) { $1 })
    func note(_ line: String) async throws -> String {
      let end = try await machine.running(line.split(separator: " ").map(String.init))
      #expect(end.status == 0, "\(line)")
      return end.error
    }

    let created = "cktop: no zone Work is known locally; the next sync creates it if the server has none\n"
    #expect(try await note("records put --type Task --name t1 a=1 --json") == "")
    #expect(try await note("records put --type Task --name t2 --zone Work a=1 --json") == created)
    #expect(try await note("records put --type Task --name t3 --zone Work a=1") == "")
  }

  @Test(arguments: ["pause", "resume", "repair"])
  func `a zone that the store has never seen cannot be paused, resumed or repaired`(_ verb: String) async throws {
    let machine = try Machine(Self.settings.merging(["CLOUDKIT_DATABASE": "private"]) { $1 })
    try await machine.succeed("records", "put", "--type", "Task", "--zone", "Work", "a=1")

    #expect(try await machine.fail(1, "zones", verb, "Work", "Nope").contains("no zone Nope; cktop zones list"))

    #expect(try await machine.succeed("queue", "pauses", "--json").output == "")
    try await machine.succeed("zones", verb, "Work")
  }

  @Test func `config check finds a theme that does not exist`() async throws {
    let machine = try Machine(Self.settings)

    #expect(try await machine.fail(2, "config", "check", settings: ["CKTOP_THEME": "nope"]).contains("nope"))
  }

  @Test func `no error quotes a long value, argument or key whole`() async throws {
    let machine = try Machine(Self.settings)
    let long = String(repeating: "x", count: 10_000)
    let lines = [
      ["status", "--environment", long], ["status", "--profile", long], ["sync", "--policy", long],
      ["status", "--store", long], ["status", "--max-age", long], ["sync", "--types", "1\(long)"],
      ["records", "put", "--type", "1\(long)", "a=1"], ["records", "put", "--type", "Task", "1\(long)=1"],
      ["records", "put", "--type", "Task", "a:\(long)=1"], ["records", "put", "--type", "Task", long],
      ["records", "put", "--type", "Task", #"a:REFERENCE={"recordName": "b", "\#(long)": 1}"#],
      ["records", "import", long, "--type", "Task"], ["records", "list", "--sort", "1 \(long)"],
      ["records", "query", "Task \(long)"], ["queue", "list", "--where", "\(long) = 'a'"],
      ["queue", "list", "--where", "fields.\(long) = 'a'"], ["queue", "list", "--where", "state = '\(long)'"],
      ["queue", "retry", long], ["conflicts", "resolve", "1", "--take", "local", "--field", long], ["help", long],
      [long],
      ["serve", "--assume", long], ["serve", "--schema", long], ["keygen", "--out", "/\(long)"], ["--\(long)"],
      ["themes", "--nope=\(long)"],
    ]

    for line in lines {
      let end = try await machine.running(line)
      #expect(
        end.status != 0 && !end.error.isEmpty && end.error.utf8.count < 1500,
        "\(line[0]): \(end.error.prefix(300))"
      )
    }
    let variable = try await machine.run("status", settings: ["CLOUDKIT_DATABASE": long])
    #expect(variable.status == 2 && variable.error.utf8.count < 1500)
  }

  @Test func `a negative number is read as the value of its option`() async throws {
    let machine = try Machine(Self.settings)

    for line in ["queue list --limit -1", "events --limit -1", "records list --limit -1", "serve --delay -5"] {
      let message = try await machine.failing(2, line.split(separator: " ").map(String.init))
      #expect(message.contains("must not be negative") || message.contains("must be between"), "\(message)")
    }
    #expect(try await machine.fail(2, "demo", "--seed", "-1").contains("'-1' is invalid"))
    #expect(try await machine.fail(2, "demo", "--headless", "-1").contains("between 0 and 86400"))
    #expect(try await machine.fail(2, "queue", "list", "--limit", "--json").contains("'--json' is invalid"))
  }

  @Test func `a file that cannot be read is named with the reason`() async throws {
    let machine = try Machine(Self.settings)
    let reason = "nope.toml cannot be read: it does not exist; "

    #expect(try await machine.fail(2, "serve", "--faults", "nope.toml").contains(reason))
    #expect(try await machine.fail(2, "records", "import", "nope.toml", "--type", "Row").contains(reason))
    #expect(try await machine.fail(2, "serve", "--server-key", "nope.toml").contains(reason))
    #expect(try await machine.fail(2, "serve", "--schema", "iCloud.a=nope.toml").contains(reason))
  }

  @Test func `a file that cannot be read for another reason has the reason of the system`() async throws {
    let machine = try Machine(Self.settings)

    let message = try await machine.fail(2, "records", "import", "/proc/self/mem", "--type", "Row")

    #expect(message.contains("cannot be read: \(String(cString: strerror(EIO)));"))
  }

  @Test func `an import without its columns is one clear line`() async throws {
    let machine = try Machine(Self.settings)
    let table = try machine.folder.write("code,n\n,2\n,4\n", to: "rows.csv")
    let lines = try machine.folder.write("{\"code\": 1}\n{\"n\": 2}\n", to: "rows.ndjson")
    let semicolons = try machine.folder.write("id;n\n1;2\n3;4\n", to: "semicolons.csv")
    func message(_ file: String, _ more: String...) async throws -> String {
      try await machine.failing(2, ["records", "import", file] + more)
    }

    let columns = "there is no column nope; the columns are code, n"
    #expect(try await message(table, "--type", "Row", "--id", "nope").hasSuffix(columns))
    #expect(try await message(lines, "--type", "Row", "--id", "nope").hasSuffix(columns))
    for file in [table, lines] {
      #expect(try await message(file, "--type", "Row", "--column", "cod=STRING").hasSuffix("did you mean code?"))
    }
    #expect(try await machine.run("records", "import", table, "--type", "Row", "--id", "code").status == 1)
    let separated = try await message(semicolons, "--type", "Row", "--id", "id")
    #expect(separated.contains("semicolons.csv line 1: ") && separated.contains("separated by ';'"))
    #expect(try await message(lines).contains("--type"))
  }

  @Test func `an identifier that is no number says what is expected`() async throws {
    let machine = try Machine(Self.settings)

    for line in ["queue edit t1 a=1", "queue show t1", "queue retry t1"] {
      let message = try await machine.failing(2, line.split(separator: " ").map(String.init))
      #expect(message.contains("a number is expected, as cktop queue list"), "\(message)")
    }
    for line in ["conflicts show abc", "conflicts resolve abc --take local"] {
      let message = try await machine.failing(2, line.split(separator: " ").map(String.init))
      #expect(message.contains("a number is expected") && message.contains("cktop conflicts list"), "\(message)")
    }
    let retry = try await machine.fail(2, "queue", "retry", "1@zz")
    #expect(retry.contains("as cktop queue list or cktop conflicts list --json shows it"))
    let undo = try await machine.fail(2, "conflicts", "undo", "t1")
    #expect(undo.contains("a number is expected, as cktop conflicts dropped"))
  }

  @Test func `an unknown option or command suggests the next step`() async throws {
    let machine = try Machine()

    #expect(try await machine.fail(2, "serve", "--nope").hasSuffix("there is no option '--nope'; see cktop help"))
    #expect(
      try await machine.fail(2, "serve", "--prot=1").hasSuffix("there is no option '--prot'; did you mean --port?")
    )
    #expect(try await machine.fail(2, "--store").contains("--store"))
    #expect(try await !machine.fail(2, "--store").contains("no option"))
    let resolve = ["conflicts", "resolve", "--tke", "server"]
    #expect(try await machine.failing(2, resolve).hasSuffix("there is no option '--tke'; did you mean --take?"))
    #expect(try await machine.fail(2, "xyzzy").contains("there is no command 'xyzzy'"))
    #expect(try await machine.fail(2, "help", "nope").contains("there is no command 'nope'"))
    #expect(try await machine.fail(2, "help", "queue", "nope").contains("there is no command 'queue nope'"))
    #expect(try await machine.fail(2, "stauts").hasSuffix("there is no command 'stauts'; did you mean cktop status?"))
    #expect(
      try await machine.fail(2, "--read-only", "queue", "lst", "--json").hasSuffix("did you mean cktop queue list?")
    )
    #expect(try await machine.fail(2, "help", "snyc").hasSuffix("did you mean cktop help sync?"))
    #expect(try await machine.fail(2, "retry", "1").hasSuffix("did you mean cktop queue retry?"))
    #expect(try await machine.fail(2, "help", "import").hasSuffix("did you mean cktop help records import?"))
    for verb in [["help"], ["help", "queue"], ["help", "queue", "list"], ["help", "help"], ["help", "faults"]] {
      #expect(try await machine.succeeding(verb).output.contains("OVERVIEW"))
    }
  }

  @Test func `an operation or conflict that is not there has exit code 1`() async throws {
    let machine = try Machine(Self.settings)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "count=1")

    for line in [
      "queue show 999", "queue retry 999", "queue pause 999", "queue resume 999", "queue discard 999",
      "queue edit 999 a=1", "conflicts show 999", "conflicts resolve 999 --take local", "conflicts undo 999",
    ] {
      let message = try await machine.failing(1, line.split(separator: " ").map(String.init))
      #expect(message.contains("999"), "\(line): \(message)")
    }
    #expect(try await machine.fail(2, "queue", "discard", "1").contains("--yes"))
    #expect(try await machine.fail(2, "queue", "edit", "1", "count=x", "count=y").contains("twice"))
    #expect(try await machine.fail(1, "queue", "edit", "1", "count=2").contains("not a failed save"))
    let receipt = try await machine.run("queue", "edit", "1", "count=2", "--json").object()
    #expect((receipt["skipped"] as? [[String: Any]])?.map { $0["id"] as? Int } == [1])
  }

  @Test func `what a command leaves alone is left alone for a reason`() async throws {
    let machine = try Machine(Self.settings)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "count=1")

    let line = try await machine.succeed("queue", "resume", "--where", "name = 't1'").output

    #expect(line == "Left operation 1 as it is: it is already waiting to be sent\n")
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t2", "count=1")
    let lines = try await machine.succeed("queue", "resume", "--where", "type = 'Task'").lines
    #expect(lines.last == "  2 operations left alone: it is already waiting to be sent")
  }

  @Test func `a refusal is printed once, and a retry that ends no wait says so`() async throws {
    let machine = try Machine(Self.settings)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "count=1")

    let refused = try await machine.run("queue", "retry", "1")

    #expect(refused.status == 1 && refused.output.isEmpty)
    #expect(refused.error.contains("operation 1 was left alone"))
    #expect(try await machine.succeed("queue", "flush").output == "Nothing waited to retry\n")
  }

  @Test func `a wrong field, value or name is one clear line`() async throws {
    let machine = try Machine(Self.settings)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "count=1")

    #expect(try await machine.fail(2, "records", "put", "--type", "Task", "count=many").contains("INT64"))
    try await machine.fail(2, "records", "put", "--type", "Task", "count:TIME=1")
    try await machine.fail(2, "records", "put", "--type", "Task", "9lives=1")
    try await machine.fail(2, "records", "put", "--type", "Task", "noequals")
    try await machine.fail(2, "records", "put", "--type", "1Task", "a=1")
    try await machine.fail(2, "records", "put", "--type", "Task", "--name", "_secret", "a=1")
    try await machine.fail(2, "records", "put", "--type", "Note", "--name", "t1", "a=1")
    try await machine.fail(2, "records", "put", "a=1")
    try await machine.fail(2, "records", "put", "--type", "Task", "--zone", "Home", "a=1")
    try await machine.fail(2, "records", "import", "none.json", "--type", "Task")
    let file = try machine.folder.write("[{\"a\": ", to: "cut.json")
    #expect(try await machine.fail(2, "records", "import", file, "--type", "Task").contains("line 1"))
  }

  @Test func `a wrong expression points at its column`() async throws {
    let machine = try Machine(Self.settings)

    #expect(try await machine.fail(2, "queue", "list", "--where", "state = 'gone'").contains("(column 9)"))
    #expect(try await machine.fail(2, "queue", "retry", "--where", "agee > 1h").contains("(column 1)"))
    #expect(try await machine.fail(2, "queue", "retry").contains("--all"))
    try await machine.fail(2, "queue", "retry", "1", "--all")
    try await machine.fail(2, "queue", "list", "--limit", "-1")
    try await machine.fail(2, "nonsense")
    try await machine.fail(2, "themes", "show", "nonsense")
  }

  @Test func `hostile data does not reach the terminal`() async throws {
    let machine = try Machine(Self.settings)
    let name = "a\u{202E}b"
    try await machine.succeed(
      "records",
      "put",
      "--type",
      "Task",
      "--name",
      name,
      "text=\u{1B}[2J\u{07}",
      "--unicode-names"
    )

    let verbs = [
      ["records", "list"], ["records", "get", name], ["queue", "list"], ["queue", "show", "1"], ["queue", "causes"],
      ["zones", "list"], ["events"], ["status"],
    ]
    for arguments in verbs.flatMap({ [$0, $0 + ["--json"]] }) + [["status", "--prometheus"]] {
      let end = try await machine.running(arguments)
      let hostile = (end.output + end.error).unicodeScalars.filter {
        "\u{1B}\u{202E}\u{07}".unicodeScalars.contains($0)
      }
      #expect(hostile.isEmpty, "\(arguments)")
    }
    #expect(try await machine.succeed("records", "get", name).output.contains("␛[2J"))
  }
}
