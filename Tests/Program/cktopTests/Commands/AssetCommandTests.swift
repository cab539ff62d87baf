import CloudKit
import Foundation
import Glibc
import TestSupport
import Testing

@Suite(.serialized) struct AssetCommandTests {
  @Test func `a file is put, sent and told of by its size; its copy is sent though it is gone`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    let photo = try machine.folder.write("not quite a photo", to: "photo.jpg")
    try await machine.succeed("records", "put", "--type", "Note", "--name", "n", "photo:ASSETID=\(photo)", "title=a")
    try FileManager.default.removeItem(atPath: photo)
    try await machine.succeed("sync")

    let record = try await machine.succeed("records", "get", "n", "--json").object()
    let fields = try #require(record["fields"] as? [String: [String: Any]])
    let value = try #require(fields["photo"]?["value"] as? [String: Any])
    #expect(value["size"] as? Int == 17)
    #expect(fields["photo"]?["type"] as? String == "ASSETID")
  }

  @Test func `a file left in place that changes before it is sent fails and says what to do`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    let photo = try machine.folder.write("before", to: "photo.jpg")
    try await machine.succeed("records", "put", "--type", "Note", "--name", "n", "photo:ASSETID=\(photo)", "--in-place")
    _ = try machine.folder.write("after", to: "photo.jpg")
    let sync = try await machine.run("sync")
    let row = try await machine.succeed("queue", "list", "--json").object()

    #expect(sync.status != 0)
    #expect(row["state"] as? String == "failed")
    #expect((row["reason"] as? String)?.contains("has changed since") == true)
    for verb in [["queue", "show", "1"], ["queue", "causes"]] {
      #expect(try await machine.succeeding(verb).output.contains("cktop records put --name NAME photo:ASSETID=PATH"))
    }

    try await machine.succeed("queue", "retry", "1")
    try await machine.succeed("sync")
    let record = try await machine.succeed("records", "get", "n", "--json").object()
    let fields = try #require(record["fields"] as? [String: [String: Any]])
    #expect((fields["photo"]?["value"] as? [String: Any])?["size"] as? Int == 5)
  }

  @Test(arguments: ["offline", "throttled"])
  func `a file whose upload meets no network, or a wait, is no failure of its record`(trouble: String) async throws {
    // Each upload, as a slow machine begins a second one before the command ends.
    let cloud = try await Cloud(
      faults: "[[rules]]\nwhen = { operation = \"upload\" }\nthen = \"\(trouble)\"\n"
    )
    let machine = try Machine(cloud)
    let photo = try machine.folder.write("not quite a photo", to: "photo.jpg")
    try await machine.succeed("records", "put", "--type", "Note", "photo:ASSETID=\(photo)")

    let sync = try await machine.run("sync")

    #expect(sync.status == 5)
    #expect(try await machine.succeed("queue", "list", "--json").object()["state"] as? String == "waiting")
  }

  @Test(arguments: [[], ["--in-place"]])
  func `a file is sent, another machine fetches its record, and nothing differs`(options: [String]) async throws {
    let cloud = try await Cloud()
    let (first, second) = (try Machine(cloud), try Machine(cloud))
    let photo = try first.folder.write("not quite a photo", to: "photo.jpg")
    let put = ["records", "put", "--type", "Photo", "--zone", "album", "--name", "p1", "photo:ASSETID=\(photo)"]
    _ = try await first.succeeding(put + options)
    try await first.succeed("sync")
    try await second.succeed("sync")

    let record = try await second.succeed("records", "get", "p1", "--json").object()
    let fields = try #require(record["fields"] as? [String: [String: Any]])
    let value = try #require(fields["photo"]?["value"] as? [String: Any])
    #expect(value["size"] as? Int == 17 && fields["photo"]?["type"] as? String == "ASSETID")
    for machine in [first, second] {
      try await machine.succeed("verify")
      #expect(try await machine.succeed("queue", "list", "--json").output == "")
    }
  }

  @Test func `a file left in place that is gone before it is sent is a dead letter with its reason`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    let photo = try machine.folder.write("before", to: "photo.jpg")
    try await machine.succeed("records", "put", "--type", "Note", "--name", "n", "photo:ASSETID=\(photo)", "--in-place")
    try FileManager.default.removeItem(atPath: photo)
    #expect(try await machine.run("sync").status == 1)

    let row = try await machine.succeed("queue", "list", "--json").object()
    #expect(row["state"] as? String == "failed")
    #expect((row["reason"] as? String)?.contains(photo) == true)

    // An edit would send the path as a text; a put takes another file.
    for assignment in ["photo=\(photo)", "photo:ASSETID=\(photo)"] {
      #expect(try await machine.fail(2, "queue", "edit", "1", assignment).contains("cktop records put --name n"))
    }
    let other = try machine.folder.write("after", to: "other.jpg")
    try await machine.succeed("records", "put", "--type", "Note", "--name", "n", "photo:ASSETID=\(other)")
    try await machine.succeed("sync")
    let record = try await machine.succeed("records", "get", "n", "--json").object()
    #expect(((record["fields"] as? [String: [String: Any]])?["photo"]?["type"] as? String) == "ASSETID")
  }

  @Test func `a file that is too large is one line, and nothing is enqueued`() async throws {
    let machine = try Machine(["CLOUDKIT_CONTAINER": Machine.container, "CLOUDKIT_API_TOKEN": "t"])
    let movie = try machine.folder.write("", to: "movie")
    // A file with a hole takes no space.
    #expect(truncate(movie, off_t(CKAsset.largestFile) + 1) == 0)
    let line = try await machine.fail(2, "records", "put", "--type", "Note", "photo:ASSETID=\(movie)")

    #expect(line.contains("\(CKAsset.largestFile + 1)") && line.contains("\(CKAsset.largestFile)"))
    #expect(try await machine.succeed("queue", "list", "--json").output == "")
  }

  @Test func `files are exported, sent or not, and imported again`() async throws {
    let cloud = try await Cloud()
    let (first, other) = (try Machine(cloud), try Machine(cloud, user: "ben"))
    let folder = first.folder.path("files")
    for (name, content) in [("sent", "not quite a photo"), ("unsent", "nor is this"), ("same", "nor is this")] {
      let photo = try first.folder.write(content, to: "\(name).jpg")
      try await first.succeed("records", "put", "--type", "Note", "--name", name, "photo:ASSETID=\(photo)", "n=1")
      if name == "sent" { try await first.succeed("sync") }
    }

    let export = try await first.succeed("records", "export", "--files", folder)
    let file = try other.folder.write(export.output, to: "notes.ndjson")
    let names = try export.objects().map { record in
      let photo = (record["fields"] as? [String: [String: Any]])?["photo"]
      return try #require((photo?["value"] as? [String: Any])?["file"] as? String)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == Set(names).sorted())
    let contents = try names.map { try String(contentsOfFile: "\(folder)/\($0)", encoding: .utf8) }
    // By name: same, sent, unsent.
    #expect(contents == ["nor is this", "not quite a photo", "nor is this"])

    // Without the files their fields are left out, and that is said.
    let without = try await other.succeed("records", "import", file, "--json")
    #expect(try without.object()["enqueued"] as? Int == 3)
    #expect(try without.object()["withoutFiles"] as? Int == 3)
    #expect(without.error.contains("3 records without files, the first on line 1"))
    let foreign = other.folder.path("foreign")
    try FileManager.default.createDirectory(atPath: foreign, withIntermediateDirectories: true)
    for name in Set(names) { try Data("x".utf8).write(to: URL(fileURLWithPath: "\(foreign)/\(name)")) }
    let wrong = try await other.run("records", "import", file, "--files", foreign, "--json")
    #expect(try wrong.status == 1 && wrong.object()["enqueued"] as? Int == 0)
    let with = try await other.succeed("records", "import", file, "--files", folder, "--json").object()
    #expect(with["enqueued"] as? Int == 3 && with["withoutFiles"] as? Int == 0)
    try await other.succeed("sync")
    let again = try await other.succeed("records", "import", file, "--files", folder, "--json").object()
    #expect(again["unchanged"] as? Int == 3)
    let copies = other.folder.path("copies")
    let copied = try await other.succeed("records", "export", "--files", copies).objects()
    #expect(copied.count == 3)
    let sizes = try FileManager.default.contentsOfDirectory(atPath: copies).map {
      try String(contentsOfFile: "\(copies)/\($0)", encoding: .utf8).utf8.count
    }
    #expect(sizes.sorted() == [11, 17])
    withExtendedLifetime(cloud) {}
  }

  @Test func `an exported file name leads out of no folder, and a folder that is none is a wrong command`() async throws
  {
    let machine = try Machine(try await Cloud())
    let line =
      #"{"recordName": "n", "recordType": "Note", "zone": "cktop", "fields": "#
      + #"{"photo": {"type": "ASSETID", "value": {"fileChecksum": "x", "size": 1, "file": "../secret"}}}}"#
    let file = try machine.folder.write(line, to: "notes.ndjson")
    _ = try machine.folder.write("s", to: "secret")
    let folder = machine.folder.path("files")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)

    let end = try await machine.run("records", "import", file, "--files", folder)
    #expect(end.status == 1 && end.error.contains("line 1: photo has the file '../secret'"))
    try await machine.fail(2, "records", "import", file, "--files", file)
    try await machine.fail(2, "records", "export", "--files", file)
  }

  @Test func `a file left in place that changed is not exported, and a copy of its earlier bytes is`() async throws {
    let machine = try Machine(try await Cloud())
    let live = try machine.folder.write("v1", to: "live.cfg")
    let copied = try machine.folder.write("v1", to: "kept.cfg")
    try await machine.succeed("records", "put", "--type", "Note", "--name", "a", "photo:ASSETID=\(live)", "--in-place")
    try await machine.succeed("records", "put", "--type", "Note", "--name", "b", "photo:ASSETID=\(copied)")
    _ = try machine.folder.write("v2", to: "live.cfg")
    let folder = machine.folder.path("files")

    let end = try await machine.run("records", "export", "--files", folder)
    #expect(end.status == 1)
    #expect(end.error.contains("the file \(live) of photo of a has changed since"))
    #expect(!end.error.contains("photo of b"))
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: folder).first)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [name])
    #expect(try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8) == "v1")

    // A file of that name is exported again if it has other bytes.
    try Data("v3".utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
    #expect(try await machine.run("records", "export", "--files", folder).status == 1)
    #expect(try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8) == "v1")
  }

  @Test func `a file left in place that is gone is named by the export`() async throws {
    let machine = try Machine(try await Cloud())
    let photo = try machine.folder.write("v1", to: "photo.jpg")
    try await machine.succeed("records", "put", "--type", "Note", "--name", "n", "photo:ASSETID=\(photo)", "--in-place")
    try FileManager.default.removeItem(atPath: photo)
    let folder = machine.folder.path("files")

    let end = try await machine.run("records", "export", "--files", folder)
    #expect(end.status == 1)
    #expect(end.error.contains("the file \(photo) of photo of n is gone"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
  }

  @Test func `an exported file with other bytes than its name states is not imported`() async throws {
    let cloud = try await Cloud()
    let (machine, other) = (try Machine(cloud), try Machine(cloud, user: "ben"))
    let photo = try machine.folder.write("v1", to: "photo.jpg")
    try await machine.succeed("records", "put", "--type", "Note", "--name", "n", "photo:ASSETID=\(photo)")
    let folder = machine.folder.path("files")
    let export = try await machine.succeed("records", "export", "--files", folder)
    let file = try other.folder.write(export.output, to: "notes.ndjson")
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
      try Data("v2".utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
    }

    let end = try await other.run("records", "import", file, "--files", folder)
    #expect(end.status == 1)
    #expect(end.error.contains("line 1: the file 'sha256"))
    #expect(end.error.contains("of photo has other bytes than its name states; export it again"))
    #expect(try await other.succeed("queue", "list", "--json").output == "")
  }

  @Test func `files that cannot be fetched are named, and the export says so`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    let photo = try machine.folder.write("not quite a photo", to: "photo.jpg")
    try await machine.succeed("records", "put", "--type", "Note", "--name", "n", "photo:ASSETID=\(photo)")
    try await machine.succeed("sync")
    await cloud.kill()

    let end = try await machine.run("records", "export", "--files", machine.folder.path("files"))

    #expect(end.status == 5)
    #expect(try end.objects().count == 1)
    #expect(end.error.contains("the file of photo of n is missing"))
  }

  @Test func `a file that is not there is one line, and nothing is enqueued`() async throws {
    let machine = try Machine(["CLOUDKIT_CONTAINER": Machine.container, "CLOUDKIT_API_TOKEN": "t"])
    let line = try await machine.fail(2, "records", "put", "--type", "Note", "photo:ASSETID=/nowhere/at/all")

    #expect(line.contains("/nowhere/at/all"))
  }
}
