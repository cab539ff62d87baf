import Synchronization
import TestSupport
import Testing

@testable import CloudSync

/// Where a test's stores are kept.
enum StorageKind: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case memory, file

  /// What worlds open their stores in.
  @TaskLocal static var current = StorageKind.memory

  var testDescription: String { rawValue }
}

/// Opens storages by name: the same name is the same rows.
final class TestStorages: Sendable {
  private let kind: StorageKind
  private let made = Mutex<[String: SQLiteStorage]>([:])

  init(_ kind: StorageKind) { self.kind = kind }

  func open(_ name: String, in folder: TemporaryFolder) throws(StoreError) -> SQLiteStorage {
    guard kind == .memory else { return try SQLiteStorage(path: folder.path("\(name).sqlite")) }
    return try made.withLock { made throws(StoreError) in
      if let storage = made[name] { return storage }
      let storage = try SQLiteStorage(inMemory: name)
      made[name] = storage
      return storage
    }
  }
}

/// Keeps the stores of a suite's tests in files.
struct OnFile: SuiteTrait, TestTrait, TestScoping {
  var isRecursive: Bool { true }

  func scopeProvider(for test: Test, testCase: Test.Case?) -> OnFile? { testCase == nil ? nil : self }

  @concurrent func provideScope(
    for test: Test,
    testCase: Test.Case?,
    performing function: @Sendable @concurrent () async throws -> Void
  ) async throws {
    try await StorageKind.$current.withValue(.file) { try await function() }
  }
}

extension Trait where Self == OnFile {
  static var onFile: OnFile { OnFile() }
}
