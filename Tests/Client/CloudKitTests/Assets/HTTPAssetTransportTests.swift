import CloudKit
import Foundation
import NIOHTTP1
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(40))) struct HTTPAssetTransportTests {
  private let scratch: TemporaryFolder
  private let transport = CKHTTPAssetTransport()

  init() throws { scratch = try TemporaryFolder() }

  private func file(of size: UInt64) throws -> URL {
    let file = try scratch.file("file", "")
    let handle = try FileHandle(forWritingTo: file)
    try handle.truncate(atOffset: size)
    try handle.close()
    return file
  }

  @Test func `an upload posts the bytes with their length, and no credentials`() async throws {
    try await StreamingServer.run(.serve) { server in
      let answer = try await transport.upload(file: try file(of: 300_000), to: try server.url("/u?sig=a%2Bb"))

      #expect(answer.status == 200)
      #expect(String(decoding: answer.body, as: UTF8.self).contains(#""size":300000"#))
      let head = try #require(server.seen.heads.first)
      #expect(head.method == .POST)
      #expect(head.uri == "/u?sig=a%2Bb")
      #expect(head.headers["Content-Length"] == ["300000"])
      #expect(head.headers["Content-Type"] == ["application/octet-stream"])
      #expect(Set(head.headers.map { $0.name.lowercased() }) == ["host", "content-length", "content-type"])
    }
  }

  @Test(arguments: [0, 1, 128 << 10, (128 << 10) + 1])
  func `a file of any size arrives whole in both directions`(size: Int) async throws {
    try await StreamingServer.run(.serve) { server in
      _ = try await transport.upload(file: try file(of: UInt64(size)), to: try server.url("/u"))
      let target = try scratch.file("target", "what was there before")
      let answer = try await transport.download(from: try server.url("/\(size)"), to: target, limit: Int64(size))

      #expect(server.seen.received == size)
      #expect(answer.status == 200)
      #expect(try Data(contentsOf: target) == Data(repeating: 0x6d, count: size))
    }
  }

  @Test func `an upload that is refused at its head has the status for an answer`() async throws {
    try await StreamingServer.run(.refuse(.payloadTooLarge)) { server in
      let answer = try await transport.upload(file: try file(of: 5_000_000), to: try server.url("/u"))

      #expect(answer.status == 413)
    }
  }

  @Test func `a download that is refused writes nothing`() async throws {
    try await StreamingServer.run(.refuse(.gone)) { server in
      let target = try scratch.file("target", "")

      let answer = try await transport.download(from: try server.url("/5"), to: target, limit: 5)

      #expect(answer.status == 410)
      #expect(try Data(contentsOf: target).isEmpty)
    }
  }

  @Test func `a download that breaks off is no success`() async throws {
    try await StreamingServer.run(.cut) { server in
      let target = try scratch.file("target", "")

      let error = await #expect(throws: CKTransportError.self) {
        try await transport.download(from: try server.url("/1000000"), to: target, limit: 1_000_000)
      }

      #expect(error?.delivery == .unknown)
    }
  }

  @Test func `more than the limit is not written`() async throws {
    try await StreamingServer.run(.serve) { server in
      let target = try scratch.file("target", "")

      let error = await #expect(throws: CKTransportError.self) {
        try await transport.download(from: try server.url("/1000000"), to: target, limit: 100_000)
      }

      #expect(error?.delivery == .unknown)
      #expect(try Data(contentsOf: target).count <= 100_000)
    }
  }

  @Test func `nothing that moves for too long ends the transfer`() async throws {
    try await StreamingServer.run(.stall) { server in
      let hasty = CKHTTPAssetTransport(timeout: .milliseconds(200))
      let idle = CKHTTPAssetTransport(idleTimeout: .milliseconds(200))
      let target = try scratch.file("target", "")
      for transport in [hasty, idle] {
        let down = await #expect(throws: CKTransportError.self) {
          try await transport.download(from: try server.url("/5"), to: target, limit: 5)
        }
        let up = await #expect(throws: CKTransportError.self) {
          try await transport.upload(file: try file(of: 10), to: try server.url("/u"))
        }
        #expect(down?.delivery == .unknown)
        #expect(up?.delivery == .unknown)
      }
    }
  }

  @Test func `a transfer ends when its task is cancelled`() async throws {
    try await StreamingServer.run(.stall) { server in
      let target = try scratch.file("target", "")
      let address = try server.url("/5")
      let task = Task { try await transport.download(from: address, to: target, limit: 5) }
      for await _ in server.log.begun { break }

      task.cancel()

      let error = await #expect(throws: CKTransportError.self) { try await task.value }
      #expect(error?.delivery == .cancelled)
    }
  }

  @Test func `what cannot be read or reached is told as not sent`() async throws {
    let closed = try ClosedPort()
    try await StreamingServer.run(.serve) { server in
      let missing = await #expect(throws: CKTransportError.self) {
        try await transport.upload(file: scratch.url.appending(path: "nothing"), to: try server.url("/u"))
      }
      let folder = await #expect(throws: CKTransportError.self) {
        try await transport.upload(file: scratch.url, to: try server.url("/u"))
      }
      let refused = await #expect(throws: CKTransportError.self) {
        try await transport.upload(file: try file(of: 10), to: closed.url)
      }
      #expect([missing, folder, refused].map { $0?.delivery } == [.notSent, .notSent, .notSent])
      #expect(server.seen.heads.isEmpty)
    }
  }

  @Test func `50 MB go up and down with less than 16 MB of memory`() async {
    // In a process of its own: other tests need memory too.
    let end = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
      let scratch = try TemporaryFolder()
      let source = try scratch.file("source", "")
      let target = try scratch.file("target", "")
      let transport = CKHTTPAssetTransport()
      let size = 50 << 20
      try await StreamingServer.run(.serve) { server in
        let handle = try FileHandle(forWritingTo: source)
        func transfer(_ size: Int) async throws {
          try handle.truncate(atOffset: UInt64(size))
          _ = try await transport.upload(file: source, to: try server.url("/u"))
          _ = try await transport.download(from: try server.url("/\(size)"), to: target, limit: Int64(size))
        }
        // Code and buffers that every transfer needs, large or small, are no cost of a large one.
        try await transfer(1 << 20)
        let before = StreamingServer.memory()

        try await transfer(size)

        let grown = server.seen.largestMemory - before
        try FileHandle.standardOutput.write(contentsOf: Data("A 50 MB asset up and down: \(grown >> 10) KB.\n".utf8))
        #expect(server.seen.received == size + (1 << 20))
        #expect(try FileManager.default.attributesOfItem(atPath: target.path)[.size] as? Int == size)
        #expect(grown < 16 << 20)
      }
    }
    print(String(decoding: end?.standardOutputContent ?? [], as: UTF8.self))
  }
}
