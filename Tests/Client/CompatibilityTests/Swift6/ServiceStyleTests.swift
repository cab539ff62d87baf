import CloudKit
import Combine
import Foundation
import Synchronization
import Testing

@testable import Network

// Code in the style of a service that screens bind to: a main-actor class with published properties, a network monitor,
// a change token in defaults.

@MainActor
protocol ServiceDelegate: AnyObject {
  func resolveConflict(local: CKRecord, remote: CKRecord) -> CKRecord?
  func validate(_ record: CKRecord) throws
}

@MainActor
final class Service: ObservableObject {
  enum Status: Equatable {
    case idle
    case syncing
    case complete
  }

  @Published private(set) var status: Status = .idle
  @Published var progress: Double = 0.0
  @Published var accountStatus: CKAccountStatus = .couldNotDetermine
  @Published var lastError: Error?
  weak var delegate: ServiceDelegate?

  private let container: CKContainer
  private var networkMonitor: NWPathMonitor?
  private(set) var isNetworkAvailable = true
  private let tokenKey: String

  var database: CKDatabase { container.privateCloudDatabase }

  init(container: CKContainer) {
    self.container = container
    self.tokenKey = "token-\(UUID().uuidString)"
    startNetworkMonitoring()
  }

  deinit { networkMonitor?.cancel() }

  func checkAccountStatus() async throws -> CKAccountStatus {
    let status = try await container.accountStatus()
    await MainActor.run { self.accountStatus = status }
    return status
  }

  func save(_ record: CKRecord) async throws -> CKRecord {
    try delegate?.validate(record)
    do {
      return try await database.save(record)
    } catch let error as CKError {
      if error.code == .serverRecordChanged, let remote = error.serverRecord,
        let resolved = delegate?.resolveConflict(local: record, remote: remote)
      {
        return try await database.save(resolved)
      }
      lastError = error
      throw error
    }
  }

  func query(_ query: CKQuery) async throws -> [CKRecord] {
    let (results, _) = try await database.records(matching: query)
    return results.compactMap { _, result in try? result.get() }
  }

  func sync() {
    status = .syncing
    let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration()
    configuration.previousServerChangeToken = loadToken()
    progress = 1
    status = .complete
  }

  func loadToken() -> CKServerChangeToken? {
    guard let data = UserDefaults.standard.data(forKey: tokenKey) else { return nil }
    do {
      let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
      unarchiver.requiresSecureCoding = true
      return try unarchiver.decodeTopLevelObject(of: CKServerChangeToken.self, forKey: NSKeyedArchiveRootObjectKey)
    } catch {
      return nil
    }
  }

  func saveToken(_ token: CKServerChangeToken) {
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    archiver.encode(token, forKey: NSKeyedArchiveRootObjectKey)
    archiver.finishEncoding()
    UserDefaults.standard.set(archiver.encodedData, forKey: tokenKey)
  }

  func forgetToken() { UserDefaults.standard.removeObject(forKey: tokenKey) }
  func damageToken() {
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    archiver.encode(NSString("no token"), forKey: "other")
    archiver.finishEncoding()
    UserDefaults.standard.set(archiver.encodedData, forKey: tokenKey)
  }

  private func startNetworkMonitoring() {
    let monitor = NWPathMonitor()
    monitor.pathUpdateHandler = { [weak self] path in
      Task { @MainActor [weak self] in
        self?.isNetworkAvailable = path.status == .satisfied
      }
    }
    monitor.start(queue: DispatchQueue(label: "example.networkmonitor"))
    networkMonitor = monitor
    isNetworkAvailable = monitor.currentPath.status == .satisfied
  }
}

@MainActor
private final class Keeper: ServiceDelegate {
  func resolveConflict(local: CKRecord, remote: CKRecord) -> CKRecord? {
    for key in local.allKeys() { remote[key] = local[key] }
    return remote
  }
  func validate(_ record: CKRecord) throws {}
}

@MainActor
@Suite(.serialized) struct ServiceStyleTests {
  @Test func `published properties tell their values and the object its changes`() async throws {
    let service = Service(container: try emulatedContainer())
    var statuses: [Service.Status] = []
    var changes = 0
    var bag: Set<AnyCancellable> = []
    service.$status.sink { statuses.append($0) }.store(in: &bag)
    service.objectWillChange.sink { changes += 1 }.store(in: &bag)

    service.sync()
    let account = try await service.checkAccountStatus()

    #expect(statuses == [.idle, .syncing, .complete])
    #expect(changes == 4)
    #expect(account == .available && service.accountStatus == .available)
    bag.removeAll()
    service.sync()
    #expect(statuses.count == 3)
  }

  @Test func `a conflict is settled by the delegate`() async throws {
    let container = try emulatedContainer()
    let service = Service(container: container)
    let keeper = Keeper()
    service.delegate = keeper
    let id = CKRecord.ID(recordName: "n")
    let theirs = CKRecord(recordType: "Note", recordID: id)
    theirs["title"] = "Tea"
    _ = try await container.privateCloudDatabase.save(theirs)
    let mine = CKRecord(recordType: "Note", recordID: id)
    mine["title"] = "Milk"

    let saved = try await service.save(mine)
    let found = try await service.query(CKQuery(recordType: "Note", predicate: NSPredicate(value: true)))

    #expect(saved["title"] as? String == "Milk")
    #expect(found.count == 1)
  }

  @Test func `a token comes back out of the defaults, and a damaged one is none`() async throws {
    let container = try emulatedContainer()
    let service = Service(container: container)
    defer { service.forgetToken() }
    let token = try await container.privateCloudDatabase.databaseChanges(since: nil).changeToken

    #expect(service.loadToken() == nil)
    service.saveToken(token)
    #expect(service.loadToken() == token)
    service.damageToken()
    #expect(service.loadToken() == nil)
  }
}

@Suite(.serialized) struct NetworkShimTests {
  @Test func `a monitor tells the path once after its start, and nothing after its end`() async throws {
    let monitor = NWPathMonitor()
    let queue = DispatchQueue(label: "example.monitor")
    let told = await withCheckedContinuation { (continuation: CheckedContinuation<NWPath, Never>) in
      monitor.pathUpdateHandler = { continuation.resume(returning: $0) }
      monitor.start(queue: queue)
    }
    monitor.cancel()
    monitor.start(queue: queue)

    #expect(told == monitor.currentPath)
    #expect(told.status == (told.supportsIPv4 || told.supportsIPv6 ? .satisfied : .unsatisfied))
    #expect(monitor.pathUpdateHandler == nil)
  }

  @Test func `an interface has the kind that the kernel shows`() {
    func type(_ name: String, _ present: String = "") -> NWInterface.InterfaceType {
      NWInterface(name: name, exists: { $0 == "/sys/class/net/\(name)/\(present)" }).type
    }
    #expect(type("lo") == .loopback)
    #expect(type("wlp3s0", "phy80211") == .wifi)
    #expect(type("wwan0") == .cellular)
    #expect(type("enp1s0") == .wiredEthernet)
    #expect(type("docker0") == .other)
    let path = NWPathMonitor().currentPath
    #expect(path.availableInterfaces.allSatisfy { path.usesInterfaceType($0.type) && $0.type != .loopback })
  }

  @Test func `a monitor tells each change of the path once`() async throws {
    let paths = [
      NWPath(supportsIPv4: true, supportsIPv6: false, addresses: [[1]]),
      NWPath(supportsIPv4: true, supportsIPv6: false, addresses: [[1]]),
      NWPath(supportsIPv4: false, supportsIPv6: false),
      // The same status over another address: the network was lost and is back.
      NWPath(supportsIPv4: true, supportsIPv6: false, addresses: [[2]]),
    ]
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    let (reading, writing) = (ends[0], ends[1])
    _ = fcntl(reading, F_SETFL, O_NONBLOCK)
    defer { close(writing) }
    let read = Mutex(0)
    let monitor = NWPathMonitor(
      reading: {
        read.withLock { number in
          defer { number += 1 }
          return paths[min(number, paths.count - 1)]
        }
      },
      opening: { reading }
    )
    let (told, continuation) = AsyncStream.makeStream(of: NWPath.self)
    monitor.pathUpdateHandler = { continuation.yield($0) }
    monitor.start(queue: DispatchQueue(label: "example.changes"))

    var seen: [NWPath] = []
    for await path in told {
      seen.append(path)
      if seen.count == 1 {
        // The kernel reports a change that leaves the path as it is, then two others.
        for number in 2...4 {
          var byte: UInt8 = 0
          write(writing, &byte, 1)
          while read.withLock({ $0 }) < number { await Task.yield() }
        }
      }
      if seen.count == 3 { break }
    }
    #expect(seen == [paths[0], paths[2], paths[3]])
    monitor.cancel()
  }
}
