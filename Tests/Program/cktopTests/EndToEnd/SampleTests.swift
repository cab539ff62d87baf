import CloudKitEmulator
import Foundation
import TestSupport
import Testing

@testable import cktop

@Suite(.serialized) struct SampleTests {
  @Test func `the program of the guide keeps notes and lists them in their order`() async throws {
    let server = EmulatorServer(try Emulator())
    let port = try await server.start()
    let folder = try TemporaryFolder()
    func notes(_ arguments: String...) async throws -> String {
      let process = try Child(
        Binary.named("Notes").path,
        arguments,
        environment: [
          "CLOUDKIT_CONTAINER": "iCloud.org.example.notes", "CLOUDKIT_URL": "http://127.0.0.1:\(port)",
          "CLOUDKIT_API_TOKEN": "any", "CLOUDKIT_WEB_AUTH_TOKEN": "ana",
        ],
        output: folder.path("output")
      )
      await process.end()
      return try String(contentsOfFile: folder.path("output"), encoding: .utf8)
    }

    #expect(try await notes("Milk") == "Milk\n")
    #expect(try await notes("Bread", "Butter") == "Milk\nBread\nButter\n")
    try await server.stop()
  }
}
