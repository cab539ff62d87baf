// swift-tools-version: 6.2
import CompilerPluginSupport
import PackageDescription

// How clients reach the stand-ins for Apple's frameworks; here, the tests that are written as clients are.
let shims = SwiftSetting.unsafeFlags(
  ["Combine", "CoreLocation", "Network", "OSLog", "SwiftUI", "UniformTypeIdentifiers"].flatMap {
    ["-module-alias", "\($0)=\($0)Shim"]
  }
    + ["-module-alias", "os=OSShim"]
)

// The folders of Sources and Tests, and the targets in them whose folder has their name.
let wings: [(name: String, sources: [String], tests: [String])] = [
  (
    "Base", ["JSONText", "CloudKitSchema", "Facts"],
    ["JSONTextTests", "CloudKitSchemaTests", "FactsTests"]
  ),
  (
    "Client",
    [
      "CloudKit", "CloudKitWebServices", "CloudKitRecording", "CloudKitContract", "SyncEngineRequirements", "CCloudKit",
    ],
    ["CloudKitTests", "CloudKitContractTests"]
  ),
  (
    "Emulator", ["CloudKitEmulator", "CloudKitEmulatorTransport"],
    ["CloudKitEmulatorTests"]
  ),
  (
    "Sync", ["CloudSync", "CloudService", "RecordImport"],
    ["CloudSyncTests", "CloudServiceTests", "RecordImportTests", "Simulation", "PowerCut"]
  ),
  (
    "Models",
    [
      "CloudKitModels", "CloudSyncModels", "CloudKitModelMacros", "CloudKitMacros", "CloudKitMacroExpansion",
      "JSONFiles",
    ],
    ["CloudKitModelsTests", "CloudKitModelMacrosTests", "JSONFilesTests", "PagesTests"]
  ),
  (
    "Program", ["cktop", "Dashboard", "TerminalUI", "Terminal", "CNcurses", "Doctor", "CktopDemo"],
    ["TerminalUITests", "DashboardTests", "CktopDemoTests", "DoctorTests", "cktopTests"]
  ),
]

let package = Package(
  name: "cktop",
  products: [
    .library(name: "CloudKit", targets: ["CloudKit"]),
    .library(name: "CloudKitRecording", targets: ["CloudKitRecording"]),
    .library(name: "CombineShim", targets: ["CombineShim"]),
    .library(name: "CoreLocationShim", targets: ["CoreLocationShim"]),
    .library(name: "NetworkShim", targets: ["NetworkShim"]),
    .library(name: "OSLogShim", targets: ["OSLogShim"]),
    .library(name: "OSShim", targets: ["OSShim"]),
    .library(name: "SwiftUIShim", targets: ["SwiftUIShim"]),
    .library(name: "UniformTypeIdentifiersShim", targets: ["UniformTypeIdentifiersShim"]),
    .library(name: "CloudKitEmulator", targets: ["CloudKitEmulator"]),
    .library(name: "CloudKitEmulatorTransport", targets: ["CloudKitEmulatorTransport"]),
    .library(name: "CloudKitSchema", targets: ["CloudKitSchema"]),
    .library(name: "CloudKitModels", targets: ["CloudKitModels"]),
    .library(name: "JSONFiles", targets: ["JSONFiles"]),
    // A product of its own, so that nothing else builds swift-syntax.
    .library(name: "CloudKitModelMacros", targets: ["CloudKitModelMacros"]),
    .library(name: "CloudSync", targets: ["CloudSync"]),
    .library(name: "CloudSyncModels", targets: ["CloudSyncModels"]),
    .library(name: "CloudService", targets: ["CloudService"]),
    .executable(name: "cktop", targets: ["cktop"]),
  ],
  dependencies: [
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/LebJe/TOMLKit", from: "0.6.0"),
    .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
    .package(url: "https://github.com/swiftlang/swift-syntax", from: "603.0.1"),
  ],
  targets: [
    // Empty Clang submodules of CloudKit, and what has to happen before a program's first line.
    .target(name: "CCloudKit"),
    // Stand-ins for Apple's frameworks. None bears a framework's name: `canImport` would turn true in our dependencies.
    .target(
      name: "CombineShim",
      dependencies: [
        .product(name: "OpenCombine", package: "OpenCombine"),
        .product(name: "OpenCombineDispatch", package: "OpenCombine"),
        .product(name: "OpenCombineFoundation", package: "OpenCombine"),
      ],
      path: "Sources/Client/Shims/CombineShim"
    ),
    .target(name: "CoreLocationShim", dependencies: ["CloudKit"], path: "Sources/Client/Shims/CoreLocationShim"),
    .target(name: "NetworkShim", path: "Sources/Client/Shims/NetworkShim"),
    .target(name: "COSShim", path: "Sources/Client/Shims/COSShim"),
    .target(
      name: "OSShim",
      dependencies: ["COSShim", .product(name: "Logging", package: "swift-log")],
      path: "Sources/Client/Shims/OSShim"
    ),
    // A module of its own: two aliases cannot name one module.
    .target(name: "OSLogShim", dependencies: ["OSShim"], path: "Sources/Client/Shims/OSLogShim"),
    .target(name: "SwiftUIShim", dependencies: ["CombineShim"], path: "Sources/Client/Shims/SwiftUIShim"),
    .target(name: "UniformTypeIdentifiersShim", path: "Sources/Client/Shims/UniformTypeIdentifiersShim"),
    // JSON of the protocol, of imports and of output; a program's own settings are Codable. It knows no key of the protocol: the client and the emulator share it.
    .target(name: "JSONText"),
    // Codable values as JSON and in files, for programs that need no more than that.
    .target(name: "JSONFiles", dependencies: ["JSONText"]),
    // Without isolation, as in Apple's framework.
    .target(name: "SyncEngineRequirements"),
    // The client of CloudKit Web Services: requests, credentials, transports. It does not know Apple's classes.
    .target(
      name: "CloudKitWebServices",
      dependencies: [
        "CloudKitSchema", "JSONText",
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOFoundationCompat", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOHTTPCompression", package: "swift-nio-extras"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Metrics", package: "swift-metrics"),
      ]
    ),
    // Recorded and replayed exchanges, for tests.
    .target(name: "CloudKitRecording", dependencies: ["CloudKitWebServices"]),
    .target(
      name: "CloudKit",
      dependencies: [
        "CCloudKit", "CloudKitSchema", "CloudKitWebServices", "JSONText", "SyncEngineRequirements",
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "OpenCombine", package: "OpenCombine"),
      ]
    ),
    // Apple's schema language, and the rules of names, types and values that hold for every server.
    .target(name: "CloudKitSchema"),
    .target(
      name: "CloudKitEmulator",
      dependencies: [
        "CloudKitSchema", "JSONText",
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOHTTPCompression", package: "swift-nio-extras"),
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "Crypto", package: "swift-crypto"),
      ]
    ),
    // The emulator as the server of a CKContainer. The emulator itself does not know the client.
    .target(
      name: "CloudKitEmulatorTransport",
      dependencies: ["CloudKit", "CloudKitEmulator", .product(name: "NIOPosix", package: "swift-nio")]
    ),
    .target(
      name: "CloudKitModels",
      dependencies: ["CloudKit", "CloudKitSchema", "Facts", .product(name: "OpenCombine", package: "OpenCombine")]
    ),
    // Models through the durable queue.
    .target(
      name: "CloudSyncModels",
      dependencies: [
        "CloudKitModels", "CloudService", "CloudSync", "CloudKit",
        .product(name: "OpenCombine", package: "OpenCombine"),
      ]
    ),
    .target(name: "CloudKitModelMacros", dependencies: ["CloudKitModels", "CloudKitMacros"]),
    .macro(
      name: "CloudKitMacros",
      dependencies: [
        "CloudKitMacroExpansion",
        .product(name: "SwiftCompilerPlugin", package: "swift-syntax"),
        .product(name: "SwiftSyntaxMacros", package: "swift-syntax"),
      ]
    ),
    .target(
      name: "CloudKitMacroExpansion",
      dependencies: [
        "CloudKitSchema", "Facts",
        .product(name: "SwiftDiagnostics", package: "swift-syntax"),
        .product(name: "SwiftSyntax", package: "swift-syntax"),
        .product(name: "SwiftSyntaxBuilder", package: "swift-syntax"),
        .product(name: "SwiftSyntaxMacros", package: "swift-syntax"),
      ]
    ),
    // What the program knows, as values, and the one place where they become sentences.
    .target(name: "Facts"),
    .target(
      name: "CloudSync",
      dependencies: [
        "CloudKit", "CloudKitSchema", "Facts", "JSONText", "NetworkShim",
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "GRDB", package: "GRDB.swift"),
      ]
    ),
    // Records from JSON, NDJSON and CSV files.
    .target(
      name: "RecordImport",
      dependencies: ["CloudSync", "CloudKit", "Facts", "JSONText"]
    ),
    .target(
      name: "CloudService",
      dependencies: ["CloudSync", "CloudKit", "Facts", .product(name: "OpenCombine", package: "OpenCombine")]
    ),
    .target(
      name: "TerminalUI",
      dependencies: [.product(name: "TOMLKit", package: "TOMLKit")],
      // Sources/Program/TerminalUI/Themes is a link to the themes at the top.
      resources: [.embedInCode("Themes")]
    ),
    .target(
      name: "CNcurses",
      linkerSettings: [.linkedLibrary("ncursesw"), .linkedLibrary("tinfo")]
    ),
    .target(name: "Terminal", dependencies: ["TerminalUI", "CNcurses"]),
    // From keys to commands of the service, and from its snapshots to the screen.
    .target(
      name: "Dashboard",
      dependencies: ["CloudService", "CloudSync", "CloudKit", "Facts", "TerminalUI", "Terminal"]
    ),
    // The behaviours of the server on which the emulator and the engine rest, as checks that any server can be asked.
    .target(name: "CloudKitContract", dependencies: ["CloudKit", "JSONText"]),
    // What syncing needs, looked at and judged: settings, credential, server, store, syncing process and machine.
    .target(
      name: "Doctor",
      dependencies: [
        "CloudKitContract", "CloudKitSchema", "CloudSync", "CloudKit", "Facts",
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ]
    ),
    // The devices that `cktop demo` simulates, and the server that they share.
    .target(name: "CktopDemo", dependencies: ["CloudSync", "CloudKit", "CloudKitEmulator"]),
    .executableTarget(
      name: "cktop",
      dependencies: [
        "Dashboard", "CktopDemo", "CloudService", "CloudSync", "CloudKit", "CloudKitContract", "CloudKitEmulator",
        "CloudKitSchema", "Doctor", "Facts", "JSONText", "RecordImport", "TerminalUI", "Terminal",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "TOMLKit", package: "TOMLKit"),
      ]
    ),
    // The guide's program, compiled as clients compile theirs.
    .executableTarget(name: "Notes", dependencies: ["CloudKit"], path: "Tests/Client/Sample"),
    // The program on the first page of the models, likewise.
    .executableTarget(name: "Hello", dependencies: ["CloudKitModels"], path: "Tests/Models/Hello"),
    // The tutorial's program, likewise.
    .executableTarget(
      name: "Orders",
      dependencies: ["CloudKitModels", "CloudSyncModels"],
      path: "Tests/Models/Tutorial"
    ),
    // Does on a terminal what the tests of the terminal type.
    .executableTarget(
      name: "terminal-sample",
      dependencies: ["DisplaySupport", "Terminal", "TerminalUI"],
      path: "Tests/Program/TerminalSample"
    ),
    // What several test targets use.
    .target(name: "TestSupport", path: "Tests/Support"),
    // A server in memory for tests of the libraries above the client.
    .target(
      name: "CloudSupport",
      dependencies: ["CloudKit", "CloudKitEmulator", "CloudKitEmulatorTransport", "TestSupport"],
      path: "Tests/CloudSupport"
    ),
    // Displays that tests look at.
    .target(name: "DisplaySupport", dependencies: ["Terminal", "TerminalUI"], path: "Tests/Program/DisplaySupport"),
    .testTarget(name: "JSONTextTests", dependencies: ["JSONText", "TestSupport"]),
    .testTarget(
      name: "CloudKitContractTests",
      dependencies: [
        "CloudKitContract", "CloudKit", "CloudKitEmulator", "CloudKitEmulatorTransport", "CloudKitRecording",
        "TestSupport",
      ]
    ),
    .testTarget(name: "JSONFilesTests", dependencies: ["JSONFiles", "TestSupport"]),
    .testTarget(name: "CloudKitSchemaTests", dependencies: ["CloudKitSchema", "TestSupport"]),
    .testTarget(
      name: "CloudKitTests",
      dependencies: [
        "CloudKit", "CloudKitRecording", "CloudKitWebServices", "JSONText", "TestSupport",
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ]
    ),
    .testTarget(
      name: "CloudKitModelsTests",
      dependencies: [
        "CloudKitModels", "CloudSyncModels", "CloudSync", "CloudKit", "CloudKitEmulator", "CloudKitEmulatorTransport",
        "CloudSupport", "CombineShim", "JSONText", "TestSupport",
        .product(name: "Logging", package: "swift-log"),
      ]
    ),
    .testTarget(
      name: "CloudKitModelMacrosTests",
      dependencies: [
        "CloudKitModelMacros", "CloudKitMacroExpansion", "CloudKitModels", "CloudKitSchema", "CloudSyncModels",
        "CloudSync", "CloudKit", "TestSupport",
        .product(name: "OpenCombine", package: "OpenCombine"), .product(name: "SwiftSyntax", package: "swift-syntax"),
        .product(name: "SwiftSyntaxBuilder", package: "swift-syntax"),
        .product(name: "SwiftSyntaxMacroExpansion", package: "swift-syntax"),
        .product(name: "SwiftSyntaxMacros", package: "swift-syntax"),
        .product(name: "SwiftSyntaxMacrosGenericTestSupport", package: "swift-syntax"),
      ]
    ),
    .testTarget(name: "TerminalUITests", dependencies: ["TerminalUI", "CNcurses", "DisplaySupport", "TestSupport"]),
    .testTarget(
      name: "CloudKitEmulatorTests",
      dependencies: [
        "CloudKitEmulator", "CloudKitEmulatorTransport", "CloudKitSchema", "CloudKit", "TestSupport",
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ]
    ),
    .testTarget(
      name: "FactsTests",
      dependencies: ["Facts", "TestSupport"],
      exclude: ["Errors.txt", "Messages.txt"]
    ),
    .testTarget(
      name: "CloudSyncTests",
      dependencies: [
        "Facts", "CloudSync", "CloudKit", "CloudKitEmulator", "CloudKitEmulatorTransport", "CloudKitSchema", "JSONText",
        "TestSupport",
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "GRDBSQLite", package: "GRDB.swift"),
      ],
      exclude: [
        "Decide/Intake.txt", "Decide/OutcomeDecision.txt", "Decide/Rebase.txt", "Decide/VerificationDecision.txt",
        "Model/OperationMachine.txt",
      ]
    ),
    .testTarget(name: "RecordImportTests", dependencies: ["RecordImport", "CloudSync", "CloudKit"]),
    // Here and not among the other benchmarks, because it measures what is no library's face.
    .executableTarget(
      name: "queue-benchmark",
      dependencies: [
        "CloudSync", "CloudKit", "CloudKitEmulator", "CloudKitEmulatorTransport",
        .product(name: "GRDB", package: "GRDB.swift"),
      ],
      path: "Tests/Benchmarks/Sync"
    ),
    // Between SQLite and its files, for the tests that cut the power.
    .target(
      name: "CPowerCut",
      path: "Tests/Sync/PowerCut/CPowerCut",
      linkerSettings: [.linkedLibrary("sqlite3")]
    ),
    .testTarget(
      name: "PowerCut",
      dependencies: [
        "CPowerCut", "Facts", "CloudSync", "CloudKit", "CloudKitEmulator", "CloudKitEmulatorTransport", "TestSupport",
        .product(name: "GRDB", package: "GRDB.swift"),
      ],
      exclude: ["CPowerCut"]
    ),
    .testTarget(
      name: "Simulation",
      dependencies: [
        "Facts", "CloudSync", "CloudKit", "CloudKitEmulator", "CloudKitEmulatorTransport", "TestSupport",
        .product(name: "GRDB", package: "GRDB.swift"),
      ]
    ),
    .testTarget(
      name: "DashboardTests",
      dependencies: [
        "Dashboard", "CloudService", "CloudSync", "CloudKit", "DisplaySupport", "Facts", "TerminalUI", "Terminal",
        "TestSupport",
      ],
      exclude: ["Screens"]
    ),
    .testTarget(
      name: "CloudServiceTests",
      dependencies: [
        "CloudService", "CloudSync", "CloudSyncModels", "CloudKit", "CloudKitEmulator", "CloudKitEmulatorTransport",
        "CloudKitModels", "CloudSupport", "Facts", "TestSupport",
        .product(name: "OpenCombine", package: "OpenCombine"),
      ]
    ),
    // The code of the handbook, without that of the pages about models.
    .testTarget(
      name: "PagesTests",
      dependencies: [
        "CloudKitModelMacros", "CloudKitModels", "CloudSyncModels", "CloudService", "CloudSync", "CloudKit",
        "CloudKitEmulator", "CloudKitEmulatorTransport", "CloudSupport", "JSONFiles", "TestSupport",
        .product(name: "Logging", package: "swift-log"), .product(name: "OpenCombine", package: "OpenCombine"),
      ]
    ),
    .testTarget(name: "CktopDemoTests", dependencies: ["CktopDemo", "CloudSync"]),
    .testTarget(
      name: "DoctorTests",
      dependencies: ["Doctor", "CloudKitSchema", "CloudSync", "CloudKit", "Facts", "TestSupport"],
      exclude: ["Findings.txt"]
    ),
    .testTarget(
      name: "cktopTests",
      dependencies: [
        "cktop", "CktopDemo", "Dashboard", "CloudService", "CloudSync", "CloudKit", "CloudKitContract",
        "CloudKitEmulator", "CloudKitEmulatorTransport", "CloudKitSchema", "DisplaySupport", "Doctor", "Facts",
        "Hello", "JSONText", "Notes", "Orders", "Terminal", "TerminalUI", "TestSupport", "terminal-sample",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      exclude: ["Features/Features.tsv", "Output/status.schema.json"]
    ),
    .testTarget(
      name: "Swift5CompatibilityTests",
      dependencies: [
        "CloudKit", "CloudKitEmulator", "CloudKitEmulatorTransport", "OSShim", "UniformTypeIdentifiersShim",
      ],
      path: "Tests/Client/CompatibilityTests/Swift5",
      // Swift 5 warns of what code of its time does.
      swiftSettings: [.swiftLanguageMode(.v5), shims, .unsafeFlags(["-suppress-warnings"])]
    ),
    .testTarget(
      name: "Swift6CompatibilityTests",
      dependencies: [
        "CloudKit", "CloudKitEmulator", "CloudKitEmulatorTransport", "CombineShim", "CoreLocationShim", "NetworkShim",
        "OSLogShim", "OSShim", "SwiftUIShim",
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Tests/Client/CompatibilityTests/Swift6",
      swiftSettings: [shims]
    ),
  ],
  swiftLanguageModes: [.v6]
)

for (wing, sources, tests) in wings {
  for target in package.targets where sources.contains(target.name) { target.path = "Sources/\(wing)/\(target.name)" }
  for target in package.targets where tests.contains(target.name) { target.path = "Tests/\(wing)/\(target.name)" }
}

// Not for users: a newer version of a dependency may deprecate something. `.ci/run` sets it.
let isStrict = Context.environment["CKTOP_STRICT"] != nil

for target in package.targets where target.type != .system {
  guard !["CNcurses", "CCloudKit", "COSShim", "CPowerCut", "SyncEngineRequirements"].contains(target.name),
    !target.name.hasSuffix("CompatibilityTests")
  else { continue }
  target.swiftSettings =
    (target.swiftSettings ?? []) + [
      .enableUpcomingFeature("ExistentialAny"),
      .enableUpcomingFeature("InternalImportsByDefault"),
      .enableUpcomingFeature("MemberImportVisibility"),
      .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ] + (isStrict ? [.treatAllWarnings(as: .error)] : [])
}

// Users install no tests, and Swift 6.3.1 crashes when it optimizes CloudKitTests.
for target in package.targets where target.type == .test {
  target.swiftSettings = (target.swiftSettings ?? []) + [.unsafeFlags(["-Onone"], .when(configuration: .release))]
}
