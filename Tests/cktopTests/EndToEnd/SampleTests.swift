import CloudKitEmulator
import Foundation
import Testing

@testable import cktop

@Suite struct SampleTests {
  @Test func `the program of the guide keeps notes and lists them in their order`() async throws {
    let server = EmulatorServer(try Emulator())
    let port = try await server.start()
    func notes(_ arguments: String...) async throws -> String {
      let process = Process()
      process.executableURL = try Binary.cktop().deletingLastPathComponent().appending(path: "Notes")
      process.arguments = arguments
      process.environment = [
        "CLOUDKIT_CONTAINER": "iCloud.org.example.notes", "CLOUDKIT_URL": "http://127.0.0.1:\(port)",
        "CLOUDKIT_API_TOKEN": "any", "CLOUDKIT_WEB_AUTH_TOKEN": "ana",
      ]
      let output = Pipe()
      process.standardOutput = output
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        process.terminationHandler = { _ in continuation.resume() }
        do { try process.run() } catch { continuation.resume(throwing: error) }
      }
      return String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }

    #expect(try await notes("Milk") == "Milk\n")
    #expect(try await notes("Bread", "Butter") == "Milk\nBread\nButter\n")
    try await server.stop()
  }
}
