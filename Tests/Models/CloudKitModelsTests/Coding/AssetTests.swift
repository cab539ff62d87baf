import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import CloudKitModels
import Foundation
import TestSupport
import Testing

private struct Photo: Codable, Equatable, CKRecordModel {
  static let assetKeys: Set<String> = ["raw", "pages", "place", "places"]
  var recordName = "photo"
  var file: URL?
  var files: [URL] = []
  var raw: Data?
  var pages: [Data] = []
  var place: Place?
  var places: [Place] = []
}

/// The same fields without `assetKeys`.
private struct Plain: Codable, CKRecordModel {
  static let recordType = "Photo"
  var recordName = "photo"
  var raw: Data?
  var place: Place?
}

private struct Attached: Codable, CKRecordModel {
  var recordName = "attached"
  var asset: CKAsset?
  var assets: [CKAsset] = []
  var place: CLLocation?
  var places: [CLLocation] = []
}

@Suite(.serialized) struct AssetTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func file(_ text: String, _ name: String = "file") throws -> URL { try folder.file(name, text) }

  private func bytes(_ value: (any CKRecordValue)?) throws -> String {
    let asset = try #require(value as? CKAsset)
    return try withExtendedLifetime(asset) { try String(contentsOf: #require(asset.fileURL), encoding: .utf8) }
  }

  private var photo: Photo {
    get throws {
      Photo(
        file: try file("f"),
        files: [try file("g", "g"), try file("h", "h")],
        raw: Data("r".utf8),
        pages: [Data("1".utf8), Data("2".utf8)],
        place: Place(city: nil, floors: []),
        places: [Place(city: nil, floors: [])]
      )
    }
  }

  @Test func `files, and data and nested values under an asset key, are assets`() throws {
    let record = try CKRecordEncoder().encode(photo)

    #expect(try bytes(record["file"]) == "f")
    #expect(try (record["files"] as? [CKAsset])?.map { try bytes($0) } == ["g", "h"])
    #expect(try bytes(record["raw"]) == "r")
    #expect(try (record["pages"] as? [CKAsset])?.map { try bytes($0) } == ["1", "2"])
    #expect(try bytes(record["place"]) == #"{"floors":[],"street":"A/B"}"#)
    #expect(try bytes(record["places"]) == #"[{"floors":[],"street":"A/B"}]"#)
  }

  @Test func `a model with assets comes back from a server as it was`() async throws {
    let database = try CKContainer.emulated(user: "ana").privateCloudDatabase
    let photo = try photo

    try await database.save(CKRecordEncoder().encode(photo))
    let record = try await database.record(for: CKRecord.ID(recordName: "photo"))
    let read = try CKRecordDecoder().decode(Photo.self, from: record)

    #expect(read.raw == photo.raw && read.pages == photo.pages)
    #expect(read.place == photo.place && read.places == photo.places)
    #expect(try read.file.map { try Data(contentsOf: $0) } == Data("f".utf8))
    #expect(try read.files.map { try Data(contentsOf: $0) } == [Data("g".utf8), Data("h".utf8)])
    try CKRecordEncoder().encode(read, onto: record)
    #expect(record.changedKeys() == [])
  }

  @Test func `data and nested values are read from bytes and from an asset alike`() throws {
    let json = Data(#"{"floors":[],"street":"A/B"}"#.utf8)
    let inBytes = CKRecord.fetched("Photo", "photo", ["raw": .bytes(Data("r".utf8)), "place": .bytes(json)])
    let inAssets = CKRecord.fetched("Photo", "photo", [:])
    inAssets["raw"] = try CKAsset(contents: Data("r".utf8))
    inAssets["place"] = try CKAsset(contents: json)

    for record in [inBytes, inAssets] {
      let plain = try CKRecordDecoder().decode(Plain.self, from: record)
      let photo = try CKRecordDecoder().decode(Photo.self, from: record)
      #expect(plain.raw == Data("r".utf8) && photo.raw == plain.raw)
      #expect(plain.place == Place(city: nil, floors: []) && photo.place == plain.place)
    }
  }

  @Test func `a nested value is read from a property list that another program wrote`() throws {
    for format: PropertyListSerialization.PropertyListFormat in [.binary, .xml] {
      let encoder = PropertyListEncoder()
      encoder.outputFormat = format
      let record = CKRecord.fetched("Photo", "photo", [:])
      record["place"] = try CKAsset(contents: encoder.encode(Place()))

      #expect(try CKRecordDecoder().decode(Photo.self, from: record).place == Place())
    }
  }

  @Test func `a type's own data under an asset key is its own format`() throws {
    struct Drawing: Codable, Equatable {
      var text = "d"
      init() {}
      init(from decoder: any Decoder) throws {
        text = String(decoding: try decoder.singleValueContainer().decode(Data.self).reversed(), as: UTF8.self)
      }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Data(text.utf8.reversed()))
      }
    }
    struct Sheet: Codable, CKRecordModel {
      static let assetKeys: Set<String> = ["drawing"]
      var recordName = "sheet"
      var drawing = Drawing()
    }
    var sheet = Sheet()
    sheet.drawing.text = "abc"

    let record = try CKRecordEncoder().encode(sheet)

    #expect(try bytes(record["drawing"]) == "cba")
    #expect(try CKRecordDecoder().decode(Sheet.self, from: record).drawing.text == "abc")
  }

  @Test func `assets and locations are properties, lists and nil`() throws {
    let (asset, place) = (try CKAsset(contents: Data("a".utf8)), CLLocation(latitude: 1, longitude: 2))
    let full = try CKRecordEncoder().encode(
      Attached(asset: asset, assets: [asset], place: place, places: [place, place])
    )
    let read = try CKRecordDecoder().decode(Attached.self, from: full)

    #expect(read.asset === asset && read.assets == [asset])
    #expect(read.place === place && read.places == [place, place])
    let empty = try CKRecordEncoder().encode(Attached())
    #expect(empty.allKeys() == [] && empty.changedKeys().count == 4)
    #expect(try CKRecordDecoder().decode(Attached.self, from: empty).asset == nil)
    let odd = CLLocation(latitude: .nan, longitude: 0)
    #expect(
      path(of: #expect(throws: CKModelError.self) { try CKRecordEncoder().encode(Box(value: [odd])) }) == [
        "value", "Index 0",
      ]
    )
  }

  @Test func `nil clears an asset and so does an empty list`() throws {
    let record = CKRecord.fetched("Photo", "photo", [:])
    try CKRecordEncoder().encode(photo, onto: record)

    try CKRecordEncoder().encode(Photo(), onto: record)

    #expect(record.allKeys() == [])
    #expect(try record.changedFields().cleared == ["file", "files", "raw", "pages", "place", "places"])
  }

  @Test func `an asset that has not been downloaded is an error that says so, except as an asset`() throws {
    let record = CKRecord.fetched("Box", "box", ["value": .asset(WireAsset(fileChecksum: "c", size: 1))])
    func code<Value: Decodable>(_ type: Value.Type) throws -> CKError.Code? {
      let error = #expect(throws: CKModelError.self) { try CKRecordDecoder().decode(Box<Value>.self, from: record) }
      #expect(error?.field == "value")
      guard case DecodingError.dataCorrupted(let context)? = error?.underlying else { return nil }
      return (context.underlyingError as? CKError)?.code
    }

    #expect(try code(URL.self) == .assetNotAvailable)
    #expect(try code(Data?.self) == .assetNotAvailable)
    #expect(try code(Place.self) == .assetNotAvailable)
    #expect(try code([Place].self) == .assetNotAvailable)
    #expect(try CKRecordDecoder().decode(Box<CKAsset>.self, from: record).value.fileURL == nil)
  }

  @Test func `only data, files and JSON are assets`() {
    struct Wrong: Codable, CKRecordModel {
      static let assetKeys: Set<String> = ["text", "numbers"]
      var recordName = "wrong"
      var text: String?
      var numbers: [Int] = []
    }
    let models = [Wrong(text: "a"), Wrong(numbers: [1])]

    let paths = models.map { model in
      path(of: #expect(throws: CKModelError.self) { try CKRecordEncoder().encode(model) })
    }

    #expect(paths == [["text"], ["numbers", "Index 0"]])
  }

  @Test func `an asset with the same bytes is not saved again, and one with others is`() throws {
    let record = CKRecord.fetched("Photo", "photo", [:])
    let photo = try photo
    try CKRecordEncoder().encode(photo, onto: record)
    record.accept(try record.changedFields())

    try CKRecordEncoder().encode(photo, onto: record)
    #expect(record.changedKeys() == [])
    var edited = photo
    edited.raw = Data("s".utf8)
    edited.pages[1] = Data("22".utf8)
    try CKRecordEncoder().encode(edited, onto: record)
    #expect(Set(record.changedKeys()) == ["raw", "pages"])
  }

  @Test func `a file that was edited in place is saved again`() throws {
    let record = CKRecord.fetched("Photo", "photo", [:])
    let photo = Photo(file: try file("old"))
    try CKRecordEncoder().encode(photo, onto: record)
    record.accept(try record.changedFields())

    try #require(photo.file.map { try Data("newer".utf8).write(to: $0) } != nil)
    try CKRecordEncoder().encode(photo, onto: record)

    #expect(record.changedKeys() == ["file"])
  }

  @Test func `assets on the server are the same if the server gave them one checksum`() throws {
    let wire = FieldValue.asset(WireAsset(fileChecksum: "c", size: 1))
    let (first, second) = (
      CKRecord.fetched("Box", "box", ["value": wire]), CKRecord.fetched("Box", "box", ["value": wire])
    )
    let other = CKRecord.fetched("Box", "box", ["value": .asset(WireAsset(fileChecksum: "d", size: 1))])
    let model = try CKRecordDecoder().decode(Box<CKAsset>.self, from: first)

    try CKRecordEncoder().encode(model, onto: second)
    try CKRecordEncoder().encode(model, onto: other)

    #expect(second.changedKeys() == [])
    #expect(other.changedKeys() == ["value"])
  }

  @Test func `a location is saved again only if one of its values differs`() throws {
    let wire = WireLocation(latitude: 1, longitude: 2)
    let record = CKRecord.fetched(
      "Box",
      "box",
      ["value": .location(wire), "list": .list(.location, [.location(wire)])]
    )
    let same = CLLocation(
      coordinate: CLLocationCoordinate2D(latitude: 1, longitude: 2),
      altitude: 0,
      horizontalAccuracy: 0,
      verticalAccuracy: -1,
      timestamp: Date(timeIntervalSince1970: 0)
    )

    try CKRecordEncoder().encode(Box(value: same), onto: record)
    #expect(record.changedKeys() == [])
    try CKRecordEncoder().encode(Box(value: CLLocation(latitude: 1, longitude: 3)), onto: record)
    #expect(record.changedKeys() == ["value"])
  }

  @Test func `parallel encodings of one record keep their own bytes`() async throws {
    let kept = try await withThrowingTaskGroup(of: Bool.self) { group in
      for index in 0..<100 {
        group.addTask {
          let record = try CKRecordEncoder().encode(Photo(raw: Data("\(index)".utf8)))
          return try CKRecordDecoder().decode(Photo.self, from: record).raw == Data("\(index)".utf8)
        }
      }
      return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }

    #expect(kept == 100)
  }

  @Test func `assets do not count in the size of a record`() throws {
    #expect(throws: CKModelError.self) { try CKRecordEncoder().encode(Plain(raw: Data(count: 3_000_000))) }
    #expect(throws: Never.self) { try CKRecordEncoder().encode(Photo(raw: Data(count: 3_000_000))) }
  }
}
