import Foundation
import JSONFiles
import TestSupport
import Testing

private struct Note: Codable, Equatable {
  var title: String
  var isDone = false
  var count = 3
  var price = 1.5
  var due: Date? = Date(timeIntervalSinceReferenceDate: 500_000_000.25)
  var data = Data([1, 2])
  var link: URL? = URL(string: "https://example.org/a?b=c")
  var tags = ["a", "b"]
  var place: Place? = Place(street: "A/B")
}

private struct Place: Codable, Equatable {
  var street: String
}

/// Values as JSON and in files.
@Suite(.serialized) struct JSONFilesTests {
  private let folder: TemporaryFolder
  private let note = Note(title: "Milk")

  init() throws { folder = try TemporaryFolder() }

  private func file(_ text: String) throws -> URL { try folder.file("note.json", text) }

  private func failure<Value>(_ body: () throws -> Value) -> JSONFileError? {
    #expect(throws: JSONFileError.self) { _ = try body() }
  }

  @Test func `a value and a list are text, data, a dictionary and an array`() throws {
    #expect(Place(street: "A/B").asString == #"{"street":"A/B"}"#)
    #expect(note.jsonData.map { String(decoding: $0, as: UTF8.self) } == note.asString)
    let dictionary = try #require(note.asDictionary)
    #expect(dictionary["title"] as? String == "Milk" && dictionary["count"] as? Int == 3)
    #expect(dictionary["isDone"] is Bool && dictionary["price"] as? Double == 1.5)
    #expect((dictionary["place"] as? [String: Any])?["street"] as? String == "A/B")
    #expect(dictionary["tags"] as? [String] == ["a", "b"])
    #expect(note.asArray == nil && [note].asDictionary == nil)
    #expect(([note, note].asArray as? [[String: Any]])?.map { $0["title"] as? String } == ["Milk", "Milk"])
    #expect(Double.nan.jsonData == nil && ["a": Double.infinity].asString == nil)
  }

  @Test func `each form of a value is loaded again, into a new value and into an existing one`() throws {
    let forms: [(Note, (inout Note) throws -> Void)] = [
      (try Note.load(from: try #require(note.jsonData)), { try $0.load(from: try #require(note.jsonData)) }),
      (
        try Note.load(fromString: try #require(note.asString)),
        { try $0.load(fromStringData: try #require(note.asString)) }
      ),
      (try Note.load(from: try #require(note.asDictionary)), { try $0.load(from: try #require(note.asDictionary)) }),
    ]
    for (loaded, load) in forms {
      #expect(loaded == note)
      var other = Note(title: "Tea", tags: [])
      try load(&other)
      #expect(other == note)
    }
    var notes = try [Note].load(from: try #require([note, note].asArray))
    #expect(notes == [note, note])
    try notes.load(from: [note.asDictionary as Any])
    #expect(notes == [note])
  }

  @Test func `untyped values of Swift types are loaded as they are`() throws {
    let typed: [String: Any] = [
      "title": "Milk", "isDone": true, "count": 3, "price": 2.0, "due": Date(timeIntervalSinceReferenceDate: 7),
      "data": Data([9]), "link": URL(fileURLWithPath: "/tmp"), "tags": ["x"] as [Any], "place": ["street": "C"],
    ]
    let loaded = try Note.load(from: typed)
    #expect(loaded.isDone && loaded.price == 2 && loaded.due == Date(timeIntervalSinceReferenceDate: 7))
    #expect(loaded.data == Data([9]) && loaded.place == Place(street: "C") && loaded.link?.path == "/tmp")
    #expect(try [UInt64].load(from: [UInt64.max]) == [.max])
    #expect(try [Bool].load(from: [NSNumber(value: true), NSNumber(value: false)]) == [true, false])
    #expect(try [Int].load(from: [NSNumber(value: Int8(5)), NSNumber(value: Int8(1)), 7.0]) == [5, 1, 7])
    #expect(try [Double].load(from: [NSDecimalNumber(string: "1.5"), NSNumber(value: 2.5), 3]) == [1.5, 2.5, 3])
    #expect(failure { try [Double].load(from: [1, Double.nan]) }?.cause == .unsupportedValue(path: "[1]"))
    let odd = failure { try Note.load(from: ["title": "Milk", "place": ["street": [NSObject()]]]) }
    #expect(odd?.cause == .unsupportedValue(path: "place.street[0]"))
  }

  @Test func `a value is saved in a file, by its URL, by a name and by its type`() throws {
    let url = folder.url.appending(path: "own.json")
    try note.save(in: url)
    #expect(try Data(contentsOf: url) == note.jsonData)
    #expect(try Note.load(from: url) == note)

    // The folder does not exist yet.
    try DefaultFile.$folder.withValue(folder.url.appending(path: "documents")) {
      try note.save()
      try note.save(in: "other")
      try [note].save(in: "list.json")
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.appending(path: "documents").path)
      #expect(names.sorted() == ["Note.json", "list.json", "other.json"])
      #expect(try Note.load() == note)
      #expect(try Note.load(from: "other.json") == note)
      var loaded = Note(title: "Tea")
      try loaded.load()
      #expect(loaded == note)
      loaded.title = "Tea"
      try loaded.save()
      try loaded.load(from: "other")
      #expect(loaded == note)
      try loaded.load(from: Note.url())
      #expect(loaded.title == "Tea")
      #expect(try [Note].load(from: "list") == [note])
    }
  }

  @Test func `a type has a file in the documents folder`() throws {
    let documents = try #require(FileManager.default.urls(for: .documentDirectory, in: .userDomainMask).first)
    #expect(Note.url() == documents.appending(path: "Note.json"))
    #expect(Note.url(from: nil) == Note.url())
    #expect(Note.url(from: "mine") == documents.appending(path: "mine.json"))
    #expect(Note.url(from: "mine.json") == Note.url(from: "mine"))
  }

  @Test func `a value that cannot be written leaves the file as it was`() throws {
    let url = folder.url.appending(path: "own.json")
    try note.save(in: url)
    var odd = note
    odd.price = .nan
    #expect(failure { try odd.save(in: url) }?.cause == .unsupportedValue(path: "price"))
    #expect(try Note.load(from: url) == note)

    let folder = folder.url.appending(path: "none").appending(path: "own.json")
    guard case .fileSystem? = failure({ try note.save(in: folder) })?.cause else {
      Issue.record("There is no such folder.")
      return
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.url.path) == ["own.json"])
  }

  private static let damages: [(text: String, cause: JSONFileError.Cause)] = [
    ("{\n  \"title\": \"secret\",\n  secret\n}", .syntax("expected a key in double quotes", line: 3, column: 3)),
    ("{\"title\": \"secret\"", .syntax("the JSON ends too early", line: 1, column: 19)),
    ("", .syntax("the JSON ends too early", line: 1, column: 1)),
    ("{}", .missingValue(path: "title")),
    ("{\"title\": 7}", .wrongType(path: "title", expected: "String")),
    (
      "{\"title\":\"secret\",\"isDone\":false,\"count\":1,\"price\":1,\"data\":\"\",\"tags\":[\"secret\",7]}",
      .wrongType(path: "tags[1]", expected: "String")
    ),
    (
      "{\"title\":\"secret\",\"isDone\":false,\"count\":1,\"price\":1,\"data\":\"!secret\",\"tags\":[]}",
      .invalidValue(path: "data")
    ),
  ]

  @Test(arguments: damages.indices)
  func `a damaged file is an error with the file and the place, and without its values`(index: Int) throws {
    let (text, cause) = Self.damages[index]
    let url = try file(text)
    let error = try #require(failure { try Note.load(from: url) })
    #expect(error.cause == cause)
    #expect(error.file == url && error.localizedDescription.contains(url.path))
    #expect(!"\(error.localizedDescription) \(error)".contains("secret"))
    var note = note
    #expect(throws: error) { try note.load(from: url) }
    #expect(note == self.note)
  }

  /// A type whose own coding fails.
  private struct Failing: Codable {
    init() {}
    init(from decoder: any Decoder) throws { throw CancellationError() }
    func encode(to encoder: any Encoder) throws { throw CancellationError() }
  }

  @Test func `an error of the type's own coding names the file`() throws {
    let url = try file("{}")
    for error in [failure { try Failing.load(from: url) }, failure { try Failing().save(in: url) }] {
      #expect(error?.cause == .ownCoding("CancellationError") && error?.file == url)
      #expect(error?.localizedDescription.contains(url.path) == true)
    }
  }

  @Test func `a file that is not there, and a folder, are other errors than damage`() {
    #expect(failure { try Note.load(from: folder.url.appending(path: "none.json")) }?.cause == .fileNotFound)
    guard case .fileSystem? = failure({ try Note.load(from: folder.url) })?.cause else {
      Issue.record("A folder is no file.")
      return
    }
  }

  @Test func `untyped values keep their types through JSON`() throws {
    let id = UUID()
    let original: [String: Any] = [
      "flag": true, "one": 1, "whole": 1.0, "large": UInt64.max, "text": "1", "date": Date(timeIntervalSince1970: 5),
      "data": Data([1]), "url": URL(fileURLWithPath: "/tmp"), "id": id, "none": NSNull(),
      "mixed": [1, true, "x", ["deep": 2.0] as [String: Any]] as [Any], "object": ["a": [false]] as [String: Any],
      "number": NSNumber(value: true), "maybe": Optional(7) as Any,
    ]
    let data = CertifiedCodableData(original)
    let read = try CertifiedCodableData.load(from: try #require(data.jsonData)).dictionary

    #expect(data.unsupported.isEmpty && read.count == original.count)
    #expect(read["flag"] is Bool && read["number"] is Bool && !(read["one"] is Bool))
    #expect(read["one"] is Int && read["one"] as? Int == 1 && read["maybe"] as? Int == 7)
    #expect(read["whole"] is Double && read["whole"] as? Double == 1)
    #expect(read["large"] as? UInt64 == .max && read["text"] as? String == "1")
    #expect(read["date"] as? Date == Date(timeIntervalSince1970: 5) && read["data"] as? Data == Data([1]))
    #expect((read["url"] as? URL)?.path == "/tmp" && read["id"] as? UUID == id && read["none"] is NSNull)
    let mixed = try #require(read["mixed"] as? [Any])
    #expect(mixed[0] is Int && mixed[1] is Bool && mixed[2] is String)
    #expect((mixed[3] as? [String: Any])?["deep"] is Double)
    #expect((read["object"] as? [String: Any])?["a"] as? [Bool] == [false])
  }

  @Test func `untyped values of other types are listed, and encoding them is an error`() throws {
    let data = CertifiedCodableData(["a": 1, "b": NSObject(), "c": [1, Place(street: "x")] as [Any]])
    #expect(data.unsupported == ["b", "c[1]"])
    #expect(data.dictionary["a"] as? Int == 1 && data.dictionary["b"] == nil)
    #expect(data.jsonData == nil)
    #expect(failure { try data.save(in: folder.url.appending(path: "x.json")) }?.cause == .unsupportedValue(path: "b"))
  }

  @Test func `a text that is not there is empty, a suffix is deleted once, and a date is read in its format`() throws {
    #expect(String?.none.isEmpty && String?.some("").isEmpty && !String?.some("a").isEmpty)
    #expect("a.json".deleting(suffix: ".json") == "a" && "a.json".deleting(suffix: ".txt") == "a.json")
    #expect("aa".deleting(suffix: "a") == "a" && "a".deleting(suffix: "") == "a")
    // With English names, and in a time zone.
    #expect(Date(date: "2001-01-02 03:04", format: "yyyy-MM-dd HH:mm")?.timeIntervalSinceReferenceDate == 97_440)
    #expect(Date(date: "2 Jan 2001", format: "d MMM yyyy")?.timeIntervalSinceReferenceDate == 86_400)
    let zone = try #require(TimeZone(secondsFromGMT: 3600))
    #expect(Date(date: "2001-01-01", format: "yyyy-MM-dd", timeZone: zone)?.timeIntervalSinceReferenceDate == -3600)
    #expect(Date(date: "tomorrow", format: "yyyy-MM-dd") == nil)
  }
}
