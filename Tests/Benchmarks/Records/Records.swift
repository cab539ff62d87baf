import Benchmark
import CloudKit
import Foundation
import Pages

let benchmarks: @Sendable () -> Void = {
  Benchmark.defaultConfiguration = .init(
    metrics: [.wallClock, .cpuTotal, .peakMemoryResident],
    maxDuration: .seconds(3)
  )

  Benchmark("Decode 200 records: JSONDecoder into plain structs") { benchmark in
    for _ in benchmark.scaledIterations {
      blackHole(try JSONDecoder().decode(PlainPage.self, from: PlainPage.sampleBytes))
    }
  }

  Benchmark("Decode 200 records: CKRecords") { benchmark in
    let database = ReplayedServer(.page).database
    benchmark.startMeasurement()
    for _ in benchmark.scaledIterations { blackHole(try await database.samplePage()) }
  }

  Benchmark("Encode 200 records: JSONEncoder out of plain structs") { benchmark in
    for _ in benchmark.scaledIterations { blackHole(try JSONEncoder().encode(PlainModify.sample)) }
  }

  Benchmark("Encode 200 records: modifyRecords") { benchmark in
    let database = ReplayedServer(.nothing).database
    let records = CKRecord.samples()
    benchmark.startMeasurement()
    for _ in benchmark.scaledIterations { await database.writeModify(records) }
  }
}
