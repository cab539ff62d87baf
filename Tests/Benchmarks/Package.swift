// swift-tools-version: 6.1
import PackageDescription

// Benchmarks, apart from the package that they measure: its users need not fetch what only these need. From the top:
//
//   swift run -c release --package-path Tests/Benchmarks ratios           (what has to hold, against Foundation)
//   swift run -c release --package-path Tests/Benchmarks ratios stream 1000000
//   swift run -c release --package-path Tests/Benchmarks ratios upload 10000
//   swift run -c release --package-path Tests/Benchmarks ratios lookup 2000   (small requests over a kept connection)
//   swift run -c release --package-path Tests/Benchmarks ratios cache        (what the cache of records saves and costs)
//   swift run -c release --package-path Tests/Benchmarks models           (models as records, against JSON)
//   swift package --package-path Tests/Benchmarks benchmark --target Records  (one by one, with percentiles)
//   swift run -c release --package-path Tests/Benchmarks emulator             (writes and small requests)
//   swift run -c release --package-path Tests/Benchmarks emulator memory      (a million records in memory)
//   swift run -c release --package-path Tests/Benchmarks emulator file        (a million records on file)
//
// What measures the queue, which is no library's face, is a target of the package itself:
//
//   swift run -c release queue-benchmark            (accepting changes, beside bare GRDB)
//   swift run -c release queue-benchmark upload     (the engine's share of an upload)
//   swift run -c release queue-benchmark million    (a queue of a million operations)
let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "cktop", path: "../.."),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/ordo-one/benchmark", from: "1.38.1", traits: []),
  ],
  targets: [
    .target(name: "Pages", dependencies: [.product(name: "CloudKit", package: "cktop")], path: "Pages"),
    .executableTarget(
      name: "ratios",
      dependencies: [
        "Pages",
        .product(name: "CloudKitEmulator", package: "cktop"),
        .product(name: "CloudKitEmulatorTransport", package: "cktop"),
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "NIOCore", package: "swift-nio"),
      ],
      path: "Ratios"
    ),
    .executableTarget(
      name: "emulator",
      dependencies: [.product(name: "CloudKitEmulator", package: "cktop")],
      path: "Emulator"
    ),
    .executableTarget(
      name: "models",
      dependencies: [
        .product(name: "CloudKitModels", package: "cktop"),
        .product(name: "CloudKitModelMacros", package: "cktop"),
        .product(name: "CloudKit", package: "cktop"),
      ],
      path: "Models"
    ),
    .executableTarget(
      name: "Records",
      dependencies: ["Pages", .product(name: "Benchmark", package: "benchmark")],
      path: "Records",
      plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]
    ),
  ],
  swiftLanguageModes: [.v6]
)
