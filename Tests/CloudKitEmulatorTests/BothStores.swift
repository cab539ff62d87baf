import Foundation
import Testing

/// Runs each test twice: with emulators in memory, and with emulators that keep everything in a file.
struct BothStoresTrait: SuiteTrait, TestTrait, TestScoping {
  /// Where fixtures keep their files; `nil` for fixtures in memory.
  @TaskLocal static var directory: URL?

  var isRecursive: Bool { true }

  func provideScope(
    for test: Test,
    testCase: Test.Case?,
    performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    try await function()
    try await withTemporaryDirectory { directory in
      try await Self.$directory.withValue(directory) { try await function() }
    }
  }

  /// A path that no other fixture has.
  static var path: String? { directory?.appendingPathComponent("\(UUID().uuidString).sqlite").path }
}

extension Trait where Self == BothStoresTrait {
  static var inMemoryAndOnFile: Self { Self() }
}
