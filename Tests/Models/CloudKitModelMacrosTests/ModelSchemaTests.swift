import CloudKit
import CloudKitModelMacros
import CloudKitSchema
import Foundation
import Testing

/// The schema of models, of which no record is needed.
struct ModelSchemaTests {
  enum Priority: Int, Codable { case low, high }
  enum Colour: String, CKFallbackCase, CaseIterable { case red, blue }

  /// A value that is encoded as a single one.
  struct Cents: Codable {
    var number: Int64

    init(from decoder: any Decoder) throws { number = try decoder.singleValueContainer().decode(Int64.self) }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(number)
    }
  }

  struct Address: Codable {
    var street: String
    var city: String
  }

  @CKModel
  struct Customer {
    let id: UUID
    var name: String
    var orders: [Link<Order>] = []
    var address: Address?
    var place: CLLocation?
  }

  @CKModel(recordType: "SalesOrder")
  struct Order {
    let recordName: String
    var customer: Link<Customer>?
    var previous: [Order] = []
    @CKField("total") var cents: Cents
    var isPaid = false
    var rate: Double
    var factor: Float?
    var placed: Date
    var deliveries: [Date] = []
    var tags: Set<String> = []
    var key: UUID?
    var site: URL?
    var priority: Priority
    var colours: [Colour] = []
    var notes: [[String]] = []
    var extra: [String: Int] = [:]
    var digest: Data
    @CKField(asset: true) var invoice: Data?
    @CKField(asset: true) var pages: [Data] = []
    @CKField(asset: true) var drawing: Address?
    var scan: CKAsset?
    var origin: CKRecord.Reference?
    @CKSystem(.creationDate) var createdAt: Date?
  }

  /// Has the record type of customers, and one more field.
  @CKModel(recordType: "Customer")
  final class Person {
    let id: String
    var born: Date?
  }

  @Test func `models that refer to each other give one schema`() throws {
    let schema = CKSchema(Order.self, Customer.self, Person.self)

    #expect(
      schema.description == """
        DEFINE SCHEMA

            RECORD TYPE Customer (
                address BYTES,
                born    TIMESTAMP,
                name    STRING,
                orders  LIST<REFERENCE>,
                place   LOCATION,
                GRANT WRITE TO "_creator",
                GRANT CREATE TO "_icloud",
                GRANT READ TO "_world"
            );

            RECORD TYPE SalesOrder (
                colours    LIST<STRING>,
                customer   REFERENCE,
                deliveries LIST<TIMESTAMP>,
                digest     BYTES,
                drawing    ASSET,
                extra      BYTES,
                factor     DOUBLE,
                invoice    ASSET,
                isPaid     INT64,
                key        STRING,
                notes      BYTES,
                origin     REFERENCE,
                pages      LIST<ASSET>,
                placed     TIMESTAMP,
                previous   LIST<REFERENCE>,
                priority   INT64,
                rate       DOUBLE,
                scan       ASSET,
                site       STRING,
                tags       LIST<STRING>,
                total      INT64,
                GRANT WRITE TO "_creator",
                GRANT CREATE TO "_icloud",
                GRANT READ TO "_world"
            );

        """
    )
    #expect(try CKSchema(parsing: schema.description) == schema)
  }

  @Test func `the schema has the types that the models' values are stored as`() throws {
    let order = Order(
      recordName: "o",
      customer: Link(to: CKRecord.ID(recordName: "c")),
      cents: try JSONDecoder().decode(Cents.self, from: Data("12".utf8)),
      rate: 0.5,
      factor: 2,
      placed: Date(timeIntervalSince1970: 1),
      deliveries: [Date(timeIntervalSince1970: 2)],
      tags: ["a"],
      key: UUID(),
      site: URL(string: "https://example.org"),
      priority: .high,
      colours: [.blue],
      notes: [["a"]],
      extra: ["a": 1],
      digest: Data([1]),
      invoice: Data([2]),
      pages: [Data([3])],
      drawing: Address(street: "a", city: "b"),
      origin: CKRecord.Reference(recordID: CKRecord.ID(recordName: "p"), action: .none)
    )
    let record = try CKRecordEncoder().encode(order)
    let fields = try #require(CKSchema(Order.self)["SalesOrder"]?.fields)

    for name in record.allKeys() {
      let value = try #require(record.storedFields[name])
      if let wireType = value.wire?.wireType {
        #expect(fields[name]?.type.name == wireType, "\(name)")
      } else {
        let isReference = ["customer", "origin"].contains(name)
        #expect(fields[name]?.type.scalar == (isReference ? .reference : .asset), "\(name)")
      }
    }
    #expect(Set(fields.keys).subtracting(record.allKeys()) == ["previous", "scan"])
  }
}
