import Synchronization
import Testing

@testable import CloudSync

/// The storages that keep the contract.
enum StorageKind: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case sqlite, memory

  /// What worlds open their stores in.
  @TaskLocal static var current = StorageKind.sqlite

  var testDescription: String { rawValue }
}

/// Opens storages by name: the same name is the same rows.
final class TestStorages: Sendable {
  private let kind: StorageKind
  private let made = Mutex<[String: MemoryStorage]>([:])

  init(_ kind: StorageKind) { self.kind = kind }

  func open(_ name: String, in folder: TestFolder) throws(StoreError) -> any QueueStorage {
    switch kind {
    case .sqlite: return try SQLiteStorage(path: folder.path("\(name).sqlite"))
    case .memory:
      return made.withLock { made in
        let storage = made[name] ?? MemoryStorage(name: name)
        made[name] = storage
        return storage
      }
    }
  }
}

/// Runs each test once on every storage.
struct EachStorage: SuiteTrait, TestTrait, TestScoping {
  var isRecursive: Bool { true }

  func scopeProvider(for test: Test, testCase: Test.Case?) -> EachStorage? { testCase == nil ? nil : self }

  @concurrent func provideScope(
    for test: Test,
    testCase: Test.Case?,
    performing function: @Sendable @concurrent () async throws -> Void
  ) async throws {
    for kind in StorageKind.allCases { try await StorageKind.$current.withValue(kind) { try await function() } }
  }
}

extension Trait where Self == EachStorage {
  static var eachStorage: EachStorage { EachStorage() }
}
