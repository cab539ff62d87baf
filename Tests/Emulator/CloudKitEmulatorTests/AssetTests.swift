import CloudKitEmulator
import Crypto
import Foundation
import Testing

extension Fixture {
  /// Asks for an upload URL for a record of the zone `notes`.
  func uploadURL(_ record: String, field: String = "photo") throws -> String {
    let token = #"{"recordName":"\#(record)","recordType":"Note","fieldName":"\#(field)"}"#
    let answer = try post("assets/upload", #"{"zoneID":{"zoneName":"notes"},"tokens":[\#(token)]}"#)
    let tokens = try #require(answer.object["tokens"] as? [[String: Any]])
    #expect(tokens[0]["recordName"] as? String == record && tokens[0]["fieldName"] as? String == field)
    return try #require(tokens[0]["url"] as? String)
  }

  /// A plain request to a URL of the emulator, as to any other host.
  func open(
    _ url: String,
    method: String = "GET",
    headers: [EmulatorHeader] = [],
    body: Data = Data()
  ) throws -> EmulatorResponse {
    pass(1)
    let parts = url.replacing("http://emulator.invalid", with: "").split(separator: "?", maxSplits: 1).map(String.init)
    let request = EmulatorRequest(
      method: method,
      path: parts[0],
      query: parts.count > 1 ? parts[1] : "",
      headers: headers,
      body: body
    )
    return try #require(emulator.handle(request, at: now).response, "the connection was dropped")
  }

  /// Uploads bytes and returns the dictionary for the field, as text.
  func upload(_ bytes: String, _ record: String, field: String = "photo") throws -> String {
    let answer = Answer(
      try open(uploadURL(record, field: field), method: "POST", body: Data(bytes.utf8))
    )
    #expect(answer.status == 200)
    let file = try #require(answer.object["singleFile"] as? [String: Any])
    return String(decoding: try JSONSerialization.data(withJSONObject: file), as: UTF8.self)
  }

  func lookup(_ name: String) throws -> [String: Any] {
    try post("records/lookup", #"{"zoneID":{"zoneName":"notes"},"records":[{"recordName":"\#(name)"}]}"#).records[0]
  }

  /// The URL of the file in a record's field `photo`, its file name filled in.
  func downloadURL(_ record: String) throws -> String {
    let asset = try #require(try lookup(record).value("photo") as? [String: Any])
    let url = try #require(asset["downloadURL"] as? String)
    #expect(url.contains("${f}"))
    return url.replacing("${f}", with: "photo.bin")
  }

  static func asset(_ value: String, field: String = "photo", type: String = "ASSETID") -> String {
    #""\#(field)":{"value":\#(value),"type":"\#(type)"}"#
  }
}

@Suite(.serialized) struct AssetTests {
  @Test func `a file goes up, into a record, and comes down`() throws {
    let fixture = try Fixture.withZone()

    let file = try fixture.upload("hello", "a")
    #expect(try fixture.modify(Fixture.save("a", Fixture.asset(file))).outcomes == ["saved"])

    let asset = try #require(try fixture.lookup("a").value("photo") as? [String: Any])
    let digest = Data([1]) + Insecure.SHA1.hash(data: Data("hello".utf8))
    #expect(asset["fileChecksum"] as? String == digest.base64EncodedString() && asset["size"] as? Int == 5)
    #expect(asset["receipt"] == nil)
    #expect(try fixture.open(try fixture.downloadURL("a")).body == Data("hello".utf8))
  }

  @Test(arguments: ["", "five\r\n--boundary\r\n"])
  func `an upload may be a form with a part named files`(prefix: String) throws {
    let fixture = try Fixture.withZone()
    let preamble =
      prefix.isEmpty ? "" : "--b o\r\nContent-Disposition: form-data; name=\"x\"; filename=\"files\"\r\n\r\nno\r\n"
    let form =
      preamble
      + "--b o\r\nContent-Disposition: form-data; name=\"files\"; filename=\"x\"\r\n\r\n\(prefix)body\r\n--b o--"
    let headers = [EmulatorHeader("Content-Type", "multipart/form-data; boundary=\"b o\"")]

    let response = try fixture.open(
      try fixture.uploadURL("a"),
      method: "POST",
      headers: headers,
      body: Data(form.utf8)
    )
    let broken = try fixture.open(
      try fixture.uploadURL("a"),
      method: "POST",
      headers: headers,
      body: Data(form.utf8.dropLast(8))
    )

    let file = try #require(Answer(response).object["singleFile"] as? [String: Any])
    #expect(file["size"] as? Int == prefix.utf8.count + 4)
    #expect(broken.status == 400)
  }

  @Test func `a receipt is good for its record, field and zone, and nothing else is one`() throws {
    let fixture = try Fixture.withZone()
    try fixture.createZone("other")
    let file = try fixture.upload("hello", "a")
    let read = try fixture.upload("seen", "read")
    _ = try fixture.modify(Fixture.save("read", Fixture.asset(read)))
    let descriptor = String(
      decoding: try JSONSerialization.data(withJSONObject: try #require(try fixture.lookup("read").value("photo"))),
      as: UTF8.self
    )

    let refused = try fixture.modify(
      Fixture.save("b", Fixture.asset(file)),
      Fixture.save("a", Fixture.asset(file, field: "other")),
      Fixture.save("c", Fixture.asset(#"{"receipt":"made.up","fileChecksum":"AA=="}"#)),
      Fixture.save("read", Fixture.asset(descriptor))
    )

    #expect(refused.outcomes == Array(repeating: "BAD_REQUEST", count: 4))
    #expect(try fixture.modify(Fixture.save("a", Fixture.asset(file)), zone: "other").outcomes == ["BAD_REQUEST"])
    #expect(try fixture.modify(Fixture.save("a", #""photo":{"value":\#(file)}"#)).outcomes == ["saved"])
  }

  @Test func `URLs and receipts run out by the emulator's clock`() throws {
    let fixture = try Fixture.withZone()
    let url = try fixture.uploadURL("a")
    let file = try fixture.upload("hello", "a")
    _ = try fixture.modify(Fixture.save("a", Fixture.asset(file)))
    let unused = try fixture.upload("unused", "b")
    let download = try fixture.downloadURL("a")

    fixture.pass(16 * 60)
    #expect(try fixture.open(url, method: "POST", body: Data("late".utf8)).status == 410)
    // Over HTTP, the body of an expired upload is not received, so a form has no part.
    let form = [EmulatorHeader("Content-Type", "multipart/form-data; boundary=b")]
    #expect(try fixture.open(url, method: "POST", headers: form).status == 410)
    #expect(try fixture.open(download).status == 200)
    fixture.pass(60 * 60)
    #expect(try fixture.open(download).status == 410)
    #expect(try fixture.open(try fixture.downloadURL("a")).status == 200)
    #expect(try fixture.modify(Fixture.save("b", Fixture.asset(unused))).outcomes == ["BAD_REQUEST"])
    #expect(fixture.emulator.assetCount == 1)
  }

  @Test func `addresses cannot be made up`() throws {
    let fixture = try Fixture.withZone()
    let file = try fixture.upload("hello", "a")
    _ = try fixture.modify(Fixture.save("a", Fixture.asset(file)))
    let download = try fixture.downloadURL("a")
    let upload = try fixture.uploadURL("a")

    #expect(try fixture.open(download + "0").status == 403)
    #expect(try fixture.open(upload + "0", method: "POST").status == 403)
    #expect(try fixture.open(upload.replacing("/upload/", with: "/upload/x"), method: "POST").status == 403)
    #expect(try fixture.open(upload).status == 405)
  }

  @Test func `a file beyond the limit is a 413 without JSON`() throws {
    var configuration = EmulatorConfiguration()
    configuration.assetSizeLimit = 10
    let fixture = try Fixture.withZone(configuration)

    let whole = try fixture.open(try fixture.uploadURL("a"), method: "POST", body: Data(count: 10))
    let over = try fixture.open(try fixture.uploadURL("a"), method: "POST", body: Data(count: 11))

    #expect(whole.status == 200)
    #expect(over.status == 413 && Answer(over).object.isEmpty)
  }

  @Test func `bytes go with their last reference`() throws {
    let fixture = try Fixture.withZone()
    _ = try fixture.modify(Fixture.save("a", Fixture.asset(try fixture.upload("one", "a"))))
    _ = try fixture.modify(Fixture.save("b", Fixture.asset(try fixture.upload("two", "b"))))
    let list = try [fixture.upload("three", "l", field: "many"), fixture.upload("four", "l", field: "many")]
    let many = Fixture.asset("[\(list.joined(separator: ","))]", field: "many", type: "ASSETID_LIST")
    #expect(try fixture.modify(Fixture.save("l", many)).outcomes == ["saved"])
    #expect(fixture.emulator.assetCount == 4)

    _ = try fixture.modify(Fixture.save("a", Fixture.asset(try fixture.upload("other", "a"))))
    #expect(fixture.emulator.assetCount == 4)
    _ = try fixture.modify(Fixture.save("b", #""photo":{}"#))
    #expect(fixture.emulator.assetCount == 3)
    _ = try fixture.modify(Fixture.delete("a"))
    #expect(fixture.emulator.assetCount == 2)
    _ = try fixture.deleteZone("notes")
    #expect(fixture.emulator.assetCount == 0)
  }

  @Test func `a reference can be had for another record of the zone`() throws {
    let fixture = try Fixture.withZone()
    _ = try fixture.modify(Fixture.save("a", Fixture.asset(try fixture.upload("hello", "a"))))

    let answer = try fixture.post(
      "assets/rereference",
      #"{"zoneID":{"zoneName":"notes"},"assets":[{"recordName":"a","fieldName":"photo"},{"recordName":"x","fieldName":"photo"}]}"#
    )
    let assets = try #require(answer.object["assets"] as? [[String: Any]])
    let copy = String(decoding: try JSONSerialization.data(withJSONObject: assets[0]), as: UTF8.self)
    #expect(try fixture.modify(Fixture.save("b", Fixture.asset(copy))).outcomes == ["saved"])
    _ = try fixture.modify(Fixture.delete("a"))

    #expect(assets[1]["serverErrorCode"] as? String == "NOT_FOUND")
    #expect(try fixture.open(try fixture.downloadURL("b")).body == Data("hello".utf8))
    #expect(fixture.emulator.assetCount == 1)
  }

  @Test func `at most 200 tokens, each with a type and a field`() throws {
    let fixture = try Fixture.withZone()
    let token = #"{"recordType":"Note","fieldName":"photo"}"#
    let ask = { (tokens: [String]) in
      try fixture.post("assets/upload", #"{"tokens":[\#(tokens.joined(separator: ","))]}"#, database: "public")
    }

    let two = try ask([token, token])
    let tokens = try #require(two.object["tokens"] as? [[String: Any]])
    #expect(Set(tokens.compactMap { $0["recordName"] as? String }).count == 2)
    #expect(try ask(Array(repeating: token, count: 201)).status == 400)
    #expect(try ask([#"{"recordType":"Note"}"#]).status == 400)
    let world = try fixture.post(
      "assets/upload",
      #"{"tokens":[\#(token)]}"#,
      database: "public",
      query: "ckAPIToken=token"
    )
    #expect(world.code == "ACCESS_DENIED")
  }

  @Test func `files survive a restart, and uploads nobody used do not for long`() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      let url = try {
        let fixture = try Fixture(path: path)
        try fixture.createZone("notes")
        _ = try fixture.modify(Fixture.save("a", Fixture.asset(try fixture.upload("hello", "a"))))
        _ = try fixture.upload("unused", "b")
        return try fixture.downloadURL("a")
      }()

      let fixture = try Fixture(path: path)

      #expect(try fixture.open(url).body == Data("hello".utf8))
      #expect(fixture.emulator.assetCount == 2)
      fixture.pass(2 * 60 * 60)
      #expect(try fixture.open(try fixture.downloadURL("a")).body == Data("hello".utf8))
      #expect(fixture.emulator.assetCount == 1)
    }
  }

  @Test func `faults strike uploads too, as plain HTTP`() throws {
    let fixture = try Fixture.withZone()
    let url = try fixture.uploadURL("a")
    let condition = FaultCondition(operation: "upload", limit: 1)
    fixture.emulator.faults = FaultPlan(rules: [FaultRule(when: condition, then: .tryAgainLater(retryAfter: nil))])

    let refused = try fixture.open(url, method: "POST", body: Data("hello".utf8))

    #expect(refused.status == 503 && Answer(refused).object.isEmpty)
    #expect(try fixture.open(url, method: "POST", body: Data("hello".utf8)).status == 200)
  }

  @Test func `another device saves a file through the direct interface`() throws {
    let fixture = try Fixture.withZone()
    let database = EmulatorDatabase.private(of: "ana", "iCloud.test")

    let asset = try fixture.emulator.upload(Data("hello".utf8), at: fixture.now)
    let saved = try fixture.emulator.save(
      in: database,
      zone: "notes",
      recordType: "Note",
      recordName: "a",
      fields: ["photo": .asset(asset)],
      at: fixture.now
    )

    #expect(saved.fields == ["photo": .asset(asset)])
    #expect(fixture.emulator.bytes(of: asset) == Data("hello".utf8))
    #expect(try fixture.open(try fixture.downloadURL("a")).body == Data("hello".utf8))
  }
}
