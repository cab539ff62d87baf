import CloudKit
import CloudKitEmulator
import Foundation
import Synchronization
import Testing

@Suite(.serialized, .timeLimit(.minutes(40))) struct OperationQueueTests {
  private let bench: OperationBench
  private let trace = Trace()

  init() throws { bench = try OperationBench() }

  private func fetch(_ name: String) -> CKFetchRecordsOperation {
    let operation = CKFetchRecordsOperation(recordIDs: [bench.id(name)])
    operation.database = bench.database
    operation.perRecordResultBlock = { [trace] in trace.note("\($0.recordName) \(told($1))") }
    operation.fetchRecordsResultBlock = { [trace] _ in trace.note("result \(name)") }
    return operation
  }

  private func finish(_ operations: [Operation], _ start: ([Operation]) -> Void) async {
    await withCheckedContinuation { continuation in
      let left = Mutex(operations.count)
      for operation in operations {
        operation.completionBlock = {
          if left.withLock({
            $0 -= 1; return $0 == 0
          }) {
            continuation.resume()
          }
        }
      }
      start(operations)
    }
  }

  @Test func `an operation waits for those it depends on, in any queue`() async throws {
    let (first, second) = (fetch("first"), fetch("second"))
    second.addDependency(first)
    bench.gate.close()

    await finish([first, second]) { _ in
      OperationQueue().addOperation(second)
      #expect(!second.isReady && !second.isExecuting)
      bench.database.add(first)
      Task {
        await bench.gate.arrival()
        bench.gate.open()
      }
    }

    #expect(
      trace.events == ["first unknownItem", "result first", "second unknownItem", "result second"]
    )
  }

  @Test func `a queue runs no more operations at once than it is told`() async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 2
    await finish((0..<20).map { fetch("n\($0)") }) { queue.addOperations($0, waitUntilFinished: false) }

    #expect(bench.gate.count == 20)
    #expect(bench.gate.mostUnderWay <= 2)
  }

  @Test func `200 operations finish on a queue, and 200 in chains on the database`() async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 8
    let urgencies: [QualityOfService] = [.background, .utility, .default, .userInitiated, .userInteractive]
    let mixed = (0..<200).map { index in
      let operation = fetch("n\(index)")
      operation.qualityOfService = urgencies[index % urgencies.count]
      return operation
    }
    await finish(mixed) { queue.addOperations($0, waitUntilFinished: false) }
    #expect(trace.events.filter { $0.hasPrefix("result") }.count == 200)

    let chained = (0..<200).map { fetch("n\($0)") }
    for (index, operation) in chained.enumerated() where index >= 10 { operation.addDependency(chained[index - 10]) }
    await finish(chained) { _ in for operation in chained.reversed() { bench.database.add(operation) } }
    #expect(trace.events.filter { $0.hasPrefix("result") }.count == 400)
  }

  @Test func `a waiting operation that is cancelled tells so and lets others go on`() async throws {
    let (never, waiting, last) = (fetch("never"), fetch("waiting"), fetch("last"))
    waiting.addDependency(never)
    last.addDependency(waiting)

    await finish([waiting, last]) { _ in
      bench.database.add(waiting)
      bench.database.add(last)
      waiting.cancel()
    }

    #expect(
      trace.events == ["waiting operationCancelled", "result waiting", "last unknownItem", "result last"]
    )
    #expect(waiting.isCancelled && waiting.isFinished)
  }

  @Test func `an operation started by hand works too, and once`() async throws {
    let operation = fetch("a")

    await finish([operation]) { _ in
      operation.start()
      operation.start()
    }

    #expect(trace.events == ["a unknownItem", "result a"])
  }

  @Test func `an operation without a database runs in its container's private one`() async throws {
    try await bench.database.save(bench.note("a"))
    let (queued, added) = (fetch("a"), fetch("a"))
    queued.database = nil
    added.database = nil
    queued.configuration.container = bench.container

    await finish([queued, added]) { _ in
      OperationQueue().addOperation(queued)
      bench.container.add(added)
    }

    #expect(trace.events.filter { $0 == "a ok" }.count == 2)
    #expect(added.database === bench.database)
  }

  @Test func `a subclass prepares its work in main and is let go at the end`() async throws {
    final class Prepared: CKFetchRecordsOperation, @unchecked Sendable {
      override func main() {
        recordIDs = [CKRecord.ID(recordName: "prepared")]
        super.main()
      }
    }
    weak var released: Prepared?
    do {
      let operation = Prepared()
      released = operation
      // A block that holds its operation is common.
      operation.fetchRecordsCompletionBlock = { [trace] _, _ in
        trace.note("\(operation.recordIDs?.count ?? 0) \(operation.isExecuting)")
      }
      await bench.run(operation)
    }

    #expect(trace.events == ["1 true"])
    // Foundation holds the operation until its completion block has returned.
    while released != nil { try? await Task.sleep(for: .milliseconds(2)) }
  }

  @Test func `settings of the group hold where the operation's own say nothing`() async throws {
    bench.emulator.faults = FaultPlan(rules: [FaultRule(then: .delay(milliseconds: 30_000))])
    let group = CKOperationGroup()
    group.defaultConfiguration.timeoutIntervalForRequest = 10
    let (patient, impatient, late) = (fetch("patient"), fetch("impatient"), fetch("late"))
    patient.timeoutIntervalForRequest = 60
    patient.group = group
    impatient.group = group
    late.configuration.timeoutIntervalForResource = 0

    for operation in [patient, impatient, late] { await bench.run(operation) }

    #expect(
      trace.events.filter { !$0.hasPrefix("result") } == [
        "patient unknownItem", "impatient networkFailure", "late networkFailure",
      ]
    )
    #expect(bench.gate.count == 2)
  }

  @Test func `a configured database lends its settings to all that is done through it`() async throws {
    bench.emulator.faults = FaultPlan(rules: [FaultRule(then: .delay(milliseconds: 30_000))])
    let configuration = CKOperation.Configuration()
    configuration.timeoutIntervalForRequest = 10

    let error = await #expect(throws: CKError.self) {
      try await bench.container.configuredWith(configuration: configuration) { container in
        try await container.privateCloudDatabase.save(bench.note("a"))
      }
    }
    let operation = fetch("b")
    await finish([operation]) { _ in
      bench.database.configuredWith(configuration: configuration) { $0.add(operation) }
    }

    // A write whose answer did not come may have taken effect.
    #expect(error?.code == .serverResponseLost)
    #expect(trace.events == ["b networkFailure", "result b"])
    #expect(try await bench.database.record(for: bench.id("a"))["n"] as? Int == 0)
  }
}
