import Facts
import Foundation
import TestSupport
import Testing

@testable import cktop

@Suite(.serialized) struct DescriptorLimitTests {
  @Test(arguments: [(0, true), (63, true), (64, false), (1024, false)])
  func `fewer than 64 descriptors are refused`(_ count: Int, _ isRefused: Bool) {
    #expect((DescriptorLimit.refusal(of: UInt(count))?.status == .storeUnusable) == isRefused)
  }

  @Test(arguments: [
    ["status"], ["sync"], ["records", "put", "--type", "T", "f=1"], ["demo", "--headless", "0"],
    ["serve"], ["doctor"], ["doctor", "--contract"], ["schema", "export"], ["--version"],
  ])
  func `too few descriptors end a command before a store is made`(_ arguments: [String]) async throws {
    let machine = try Machine(["CLOUDKIT_CONTAINER": Machine.container])

    let end = try await limited("ulimit -n 63", arguments, machine)

    #expect(end.status == .exited(4))
    #expect(end.error.hasPrefix("cktop: ") && end.error.split(separator: "\n").count == 1)
    #expect(!FileManager.default.fileExists(atPath: machine.folder.path("state")))
  }

  @Test(arguments: [6, 7, 8, 11, 20])
  func `too few descriptors for the runtime end the program with a sentence`(_ count: Int) async throws {
    let end = try await limited("ulimit -n \(count)", ["serve"], try Machine())

    #expect(end.status == .exited(4))
    #expect(end.error.hasPrefix("cktop: ") && end.error.split(separator: "\n").count == 1)
  }

  @Test func `a low soft limit is raised to the hard one`() async throws {
    let machine = try Machine(["CLOUDKIT_CONTAINER": Machine.container])

    let end = try await limited("ulimit -Sn 32", ["records", "put", "--type", "T", "f=1"], machine)

    #expect(end.status == .exited(0))
  }

  private func limited(_ limit: String, _ arguments: [String], _ machine: Machine) async throws
    -> (status: Child.End, error: String)
  {
    let error = machine.folder.path("error")
    let script = "\(limit); exec \"$0\" \"$@\""
    let process = try Child(
      "/bin/sh",
      ["-c", script, try Binary.cktop().path] + arguments,
      environment: machine.environment,
      error: error
    )
    return (await process.end(), try String(contentsOfFile: error, encoding: .utf8))
  }
}
