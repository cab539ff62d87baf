import CloudKit
import CloudKitEmulator
import CloudKitModels
import CloudSupport
import Foundation
import Testing

@Suite(.serialized) struct ErrorTests {
  private struct Street: Codable {
    var name: String
    var numbers: [UInt8] = []
  }

  private func reading<Value: Decodable>(_ type: Value.Type, _ field: FieldValue?) -> CKModelError? {
    let record = CKRecord.fetched("Box", "box", field.map { ["value": $0] } ?? [:])
    return #expect(throws: CKModelError.self) { try CKRecordDecoder().decode(Box<Value>.self, from: record) }
  }

  private func writing(_ value: some Encodable) -> CKModelError? {
    #expect(throws: CKModelError.self) { try CKRecordEncoder().encode(Box(value: value)) }
  }

  private func json(_ text: String) -> FieldValue { .bytes(Data(text.utf8)) }

  @Test func `an error names the model, the field and the type`() {
    let mismatch = reading(Int.self, .string("secret"))
    #expect(mismatch?.model == "Box<Int>")
    #expect(mismatch?.field == "value")
    #expect(mismatch?.expected == "Int")
    #expect(mismatch?.underlying is DecodingError)
    #expect(reading(Street.self, .string("secret"))?.expected == "Street")
    #expect(reading([Int].self, .list(.string, [.string("secret")]))?.field == "value[0]")
    #expect(writing(Double.nan)?.field == "value")
    #expect(writing(Double.nan)?.underlying is EncodingError)
  }

  @Test func `the field's path goes through lists and nested values`() {
    let error = reading([Street].self, json(#"[{"name":"a","numbers":[]},{"name":"b","numbers":[1,"x"]}]"#))
    #expect(error?.field == "value[1].numbers[1]")
    #expect(error?.expected == "UInt8")
    #expect(reading([Street].self, json(#"[{"numbers":[]}]"#))?.field == "value[0].name")
    #expect(writing(["a": Double.nan])?.field == "value.a")
  }

  @Test func `a missing field is named, and an error about the whole model names none`() {
    #expect(reading(String.self, nil)?.field == "value")
    let other = CKRecord.fetched("Other", "box", [:])
    let error = #expect(throws: CKModelError.self) { try CKRecordDecoder().decode(Box<Int>.self, from: other) }
    #expect(error?.field == nil)
    let written = #expect(throws: CKModelError.self) { try CKRecordEncoder().encode(Box(value: 1), onto: other) }
    #expect(written?.field == nil && written?.model == "Box<Int>")
  }

  @Test func `texts name the model and the field and contain no value`() throws {
    let errors = [
      reading(Priority.self, .string("secret")), reading(Int.self, .string("secret")),
      reading(UUID.self, .string("secret")), reading(Street.self, json("secret")),
      reading(Street.self, json(#"{"name":"secret","numbers":[300]}"#)),
      reading(Street.self, json(#"{"name":"secret","numbers":["secret"]}"#)), reading(UInt8.self, .int64(300)),
      writing(UInt64.max), writing(["a": Double.infinity]), reading(Data.self, .asset(WireAsset(size: 300))),
    ]

    for error in errors {
      let error = try #require(error)
      let text = error.localizedDescription
      #expect(text == error.errorDescription)
      let (field, reason) = (try #require(error.field), try #require(error.failureReason))
      #expect(text.contains(error.model) && text.contains(field) && text.hasSuffix(reason))
      for value in ["secret", "300", "\(UInt64.max)", "inf"] { #expect(!text.contains(value), "\(text)") }
    }
  }

  @Test func `each error has a cause to act on`() async throws {
    struct Large: Codable, Identifiable, CKRecordModel {
      var id = "l"
      var text = String(repeating: "x", count: 1_000_001)
    }
    struct Archived: Codable, Identifiable, CKRecordModel {
      var id = "a"
      var archive: Data? = Data("x".utf8)
      static let systemKeys: [String: CKSystemValue] = ["archive": .archive]
    }
    func writing(_ model: some CKRecordModel & Encodable) -> CKModelError? {
      #expect(throws: CKModelError.self) { try CKRecordEncoder().encode(model) }
    }
    #expect(reading(String.self, nil)?.cause == .missingValue)
    #expect(reading([Street].self, json(#"[{"numbers":[]}]"#))?.cause == .missingValue)
    #expect(reading(Int.self, .string("x"))?.cause == .wrongType)
    #expect(reading(UInt8.self, .int64(300))?.cause == .invalidValue)
    #expect(reading(Data.self, .asset(WireAsset(size: 300)))?.cause == .asset(.assetNotAvailable))
    #expect(writing(Box(value: Double.nan))?.cause == .unsupportedValue)
    #expect(writing(Large())?.cause == .tooLarge)
    #expect(writing(Archived())?.cause == .systemValue)
    #expect(writing(Box(recordName: "", value: 1))?.cause == .invalidModel)
    let elsewhere = CKRecord.ID(recordName: "x", zoneID: CKRecordZone.ID(zoneName: "other"))
    #expect(writing(Box(value: Link<Note>(to: elsewhere)))?.cause == .otherZone)
    let other = CKRecord.fetched("Other", "box", [:])
    let mismatch = #expect(throws: CKModelError.self) { try CKRecordDecoder().decode(Box<Int>.self, from: other) }
    #expect(mismatch?.cause == .otherRecordType)
    #expect(try await targetErrors().map(\.cause) == [.targetNotFetched, .targetNotSaved, .targetIncomplete])
  }

  /// The errors of a model whose target cannot be fetched, cannot be saved, and is saved without its reference back.
  private func targetErrors() async throws -> [CKModelError] {
    let cloud = try Cloud()
    let database = cloud.container.privateCloudDatabase
    try await database.save(CKRecordZone(zoneID: database.zoneIDForModels))
    func refuse(_ name: String, after requests: Int = 0) {
      let condition = FaultCondition(operation: "records/modify", recordName: name, after: requests)
      cloud.emulator.faults = FaultPlan(rules: [FaultRule(when: condition, then: .poison)])
    }
    let ann = Employee(id: "ann", boss: Link(Employee(id: "bob")))
    let loader = LinkLoader(following: .depth(1)) { ids, _ in
      Dictionary(uniqueKeysWithValues: ids.map { ($0, .failure(CKError(.permissionFailure))) })
    }
    let record = Result<CKRecord, any Error> { try CKRecordEncoder().encode(ann) }
    let loaded = try await loader.models(Employee.self, from: [record])
    let notFetched = #expect(throws: CKModelError.self) { try loaded[0].get() }

    refuse("bob")
    let notSaved = await #expect(throws: CKModelError.self) { try await database.save(ann) }

    // The reference that closes the cycle is set by a second request.
    refuse("dan", after: 1)
    let cat = Link<Employee>(to: CKRecord.ID(recordName: "cat", zoneID: database.zoneIDForModels))
    let incomplete = await #expect(throws: CKModelError.self) {
      try await database.save(Employee(id: "cat", boss: Link(Employee(id: "dan", boss: cat))))
    }
    return [notFetched, notSaved, incomplete].compactMap(\.self)
  }

  private struct Photo: Codable, Identifiable, CKRecordModel {
    var id = "p"
    var createdAt: Date?
    var blob: Data?
    var value: Int?

    static var systemKeys: [String: CKSystemValue] { keys("systemKeys", .creationDate) }
    static var assetKeys: Set<String> { Set(keys("assetKeys", ()).keys) }
    static var referenceActions: CKReferenceActions { keys("referenceActions", .deleteSelf) }
    static var mergeRules: [String: MergeRule] { keys("mergeRules", .elements) }

    private static func keys<Element>(_ declaration: String, _ element: Element) -> [String: Element] {
      ErrorTests.declared.flatMap { $0.declaration == declaration ? [$0.key: element] : nil } ?? [:]
    }
  }

  @TaskLocal private static var declared: (declaration: String, key: String)?

  @Test(arguments: [
    ("systemKeys", "creatdAt", "createdAt"), ("assetKeys", "blub", "blob"), ("referenceActions", "valeu", "value"),
    ("mergeRules", "vlue", "value"), ("mergeRules", "other", "blob, createdAt, id, value"),
  ])
  func `a declared key that no property has is an error of each conversion, which names the nearest`(
    _ declaration: String,
    _ key: String,
    _ near: String
  ) throws {
    let record = try CKRecordEncoder().encode(Photo())

    try Self.$declared.withValue((declaration, key)) {
      let errors = [
        #expect(throws: CKModelError.self) { try CKRecordEncoder().encode(Photo()) },
        #expect(throws: CKModelError.self) { try CKRecordDecoder().decode(Photo.self, from: record) },
      ]
      for error in errors {
        let error = try #require(error)
        let text = error.localizedDescription
        #expect(error.cause == .unknownKey && error.model == "Photo" && error.field == nil)
        #expect(text.contains(declaration) && text.contains("'\(key)'") && text.contains(near) && !text.contains("\n"))
      }
    }
  }

  @Test(arguments: ["id", "createdAt", "blob", "value"])
  func `a declared key of a property is accepted, whether the property has a value or not`(_ key: String) throws {
    try Self.$declared.withValue(("mergeRules", key)) {
      let record = try CKRecordEncoder().encode(Photo())
      #expect(try CKRecordDecoder().decode(Photo.self, from: record).id == "p")
    }
  }

  @Test func `an error that the model's own coding throws is kept`() {
    struct Refusal: Error {}
    struct Own: Codable {
      init() {}
      init(from decoder: any Decoder) throws { throw Refusal() }
      func encode(to encoder: any Encoder) throws { throw Refusal() }
    }

    #expect(reading(Own.self, .int64(1))?.underlying is Refusal)
    #expect(reading(Own.self, .int64(1))?.cause == .ownCoding)
    #expect(writing(Own())?.underlying is Refusal)
  }
}
