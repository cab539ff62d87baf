import Foundation
import Testing

@testable import CloudKit

@Suite(.serialized) struct OperationSettingsTests {
  @Test func `requests share the time of their operation`() {
    let start = ContinuousClock.now
    var settings = OperationSettings()
    #expect(settings.begun(at: start).timeout(at: start) == nil)

    settings.timeoutIntervalForResource = 10
    settings.timeoutIntervalForRequest = 4
    let begun = settings.begun(at: start)

    #expect(begun.timeout(at: start) == .seconds(4))
    #expect(begun.timeout(at: start.advanced(by: .seconds(7))) == .seconds(3))
    #expect(begun.timeout(at: start.advanced(by: .seconds(11))) == .seconds(-1))
  }

  @Test(arguments: [-1, .nan, .infinity, 1e300, -.infinity])
  func `an interval that no clock can hold does no harm`(interval: TimeInterval) {
    var settings = OperationSettings()
    settings.timeoutIntervalForResource = interval

    #expect(settings.begun().timeout() != nil)
  }

  @Test func `an operation's own settings come before those of its group, and those before the database's`() {
    let group = CKOperationGroup()
    group.defaultConfiguration.timeoutIntervalForRequest = 2
    group.defaultConfiguration.qualityOfService = .background
    let operation = CKOperation()
    operation.group = group
    operation.timeoutIntervalForRequest = 1
    var database = OperationSettings()
    database.qualityOfService = .utility
    database.timeoutIntervalForResource = 3

    let settings = operation.settings.completed(by: database)

    #expect(settings.timeoutIntervalForRequest == 1)
    #expect(settings.qualityOfService == .background)
    #expect(settings.priority == .background)
    #expect(settings.timeoutIntervalForResource == 3)
    #expect(operation.configuration.timeoutIntervalForResource == 604_800)
  }

  @Test func `a configuration that was given away does not change an operation any more`() {
    let configuration = CKOperation.Configuration()
    configuration.timeoutIntervalForRequest = 5
    let operation = CKQueryOperation()
    operation.configuration = configuration

    configuration.timeoutIntervalForRequest = 6
    #expect(operation.timeoutIntervalForRequest == 5)
    operation.configuration.timeoutIntervalForRequest = 7
    #expect(operation.timeoutIntervalForRequest == 7)
    operation.configuration = nil
    #expect(operation.timeoutIntervalForRequest == 60)
  }

  @Test func `groups and zone configurations survive archiving and copying`() throws {
    func archived<Object: NSObject & NSSecureCoding>(_ object: Object) throws -> Object {
      let data = try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true)
      return try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: Object.self, from: data))
    }
    let group = CKOperationGroup()
    group.name = "import"
    group.quantity = 3
    group.expectedSendSize = .megabytes
    let token = CKServerChangeToken(wire: "abc")
    let keys = CKFetchRecordZoneChangesOperation.ZoneConfiguration(
      previousServerChangeToken: token,
      resultsLimit: 5,
      desiredKeys: ["a", "b"]
    )

    for group in [try archived(group), try #require(group.copy() as? CKOperationGroup)] {
      #expect(group.name == "import" && group.quantity == 3 && group.expectedSendSize == .megabytes)
      #expect(group.expectedReceiveSize == .unknown)
    }
    #expect(try archived(group).operationGroupID == group.operationGroupID)
    for copy in [try archived(keys), try #require(keys.copy() as? CKFetchRecordZoneChangesConfiguration)] {
      #expect(copy.previousServerChangeToken == token && copy.resultsLimit == 5 && copy.desiredKeys == ["a", "b"])
    }
    let all = try archived(CKFetchRecordZoneChangesOperation.ZoneConfiguration())
    #expect(all.previousServerChangeToken == nil && all.resultsLimit == 0 && all.desiredKeys == nil)
  }

  @Test func `archives in which something is missing or of another type are read as far as they go`() throws {
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    archiver.encode(NSString(string: "id"), forKey: "OperationGroupID")
    archiver.encode(NSString(string: "many"), forKey: "Quantity")
    archiver.encode(99, forKey: "ExpectedSendSize")
    archiver.finishEncoding()

    let group = CKOperationGroup(coder: try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData))
    #expect(group?.operationGroupID == "id" && group?.quantity == 0 && group?.expectedSendSize == .unknown)
    let empty = NSKeyedArchiver(requiringSecureCoding: true)
    empty.finishEncoding()
    #expect(CKOperationGroup(coder: try NSKeyedUnarchiver(forReadingFrom: empty.encodedData)) == nil)
  }
}
