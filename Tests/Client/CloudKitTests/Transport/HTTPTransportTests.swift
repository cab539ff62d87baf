import AsyncHTTPClient
import CloudKit
import Foundation
import NIOCore
import Testing

@testable import CloudKitWebServices

@Suite(.serialized) struct HTTPTransportTests {
  private let request = CKTransportRequest(
    method: "POST",
    path: "/database/1/iCloud.test/development/public/records/query",
    query: "ckAPIToken=S%2BCRET",
    headers: [CKHTTPHeader("X-Secret", "HEADERSECRET")],
    body: Data(#"{"a":1}"#.utf8)
  )

  private func transport(_ port: Int, timeout: Duration = .seconds(900), largestAnswer: Int = 1 << 20)
    -> CKHTTPTransport
  {
    CKHTTPTransport(
      baseURL: URL(string: "http://127.0.0.1:\(port)")!,
      timeout: timeout,
      connectTimeout: .seconds(900),
      largestAnswer: largestAnswer,
      proxies: .none
    )
  }

  private func failure(_ transport: CKHTTPTransport) async -> CKTransportError? {
    do throws(CKTransportError) {
      _ = try await transport.send(request)
      return nil
    } catch {
      return error
    }
  }

  @Test func `a request arrives byte for byte and the answer comes back whole`() async throws {
    let response = try await LoopbackServer.run(.echo) { server in try await transport(server.port).send(request) }

    #expect(response.status == 202)
    #expect(response.header("x-test") == "yes")
    #expect(
      String(decoding: response.body, as: UTF8.self)
        == "POST /database/1/iCloud.test/development/public/records/query?ckAPIToken=S%2BCRET\n{\"a\":1}"
    )
  }

  @Test func `a refused connection was not sent`() async throws {
    let closed = try ClosedPort()
    let error = await failure(transport(closed.port))

    #expect(error?.delivery == .notSent)
    #expect(error?.message.contains("refused the connection") == true)
  }

  @Test func `a number that is no port is told, not tried`() async throws {
    for port in [0, 65_536, 99_999] {
      let error = await failure(CKHTTPTransport(baseURL: try #require(URL(string: "http://127.0.0.1:\(port)"))))

      #expect(error?.delivery == .notSent)
      #expect(error?.message.contains("65535") == true)
    }
  }

  @Test func `a name that does not resolve was not sent`() async {
    // No label of a name may be this long, so no name server is asked.
    let name = String(repeating: "a", count: 80) + ".invalid"
    let transport = CKHTTPTransport(baseURL: URL(string: "http://\(name)")!, timeout: .seconds(20))

    #expect(await failure(transport)?.delivery == .notSent)
  }

  @Test func `a server that closes after reading leaves the effect unknown`() async throws {
    let error = try await LoopbackServer.run(.closeAfterReading) { await failure(transport($0.port)) }

    #expect(error?.delivery == .unknown)
  }

  @Test func `half an answer is no answer`() async throws {
    let error = try await LoopbackServer.run(.closeWithinAnswer) { await failure(transport($0.port)) }

    #expect(error?.delivery == .unknown)
  }

  @Test(arguments: [LoopbackServer.Behaviour.silence, .silenceWithinAnswer])
  func `a server that falls silent leaves the effect unknown when time is up`(behaviour: LoopbackServer.Behaviour)
    async throws
  {
    let error = try await LoopbackServer.run(behaviour) { server in
      await failure(transport(server.port, timeout: .milliseconds(300)))
    }

    #expect(error?.delivery == .unknown)
  }

  @Test func `errors of the client are told by whether a connection stood`() throws {
    let url = try #require(URL(string: "https://api.example.org:8443"))
    let table: [(any Error, CKTransportError.Delivery)] = [
      (HTTPClientError.connectTimeout, .notSent), (HTTPClientError.getConnectionFromPoolTimeout, .notSent),
      (HTTPClientError.tlsHandshakeTimeout, .notSent), (HTTPClientError.alreadyShutdown, .notSent),
      (ChannelError.connectTimeout(.seconds(1)), .notSent), (IOError(errnoCode: ECONNREFUSED, reason: ""), .notSent),
      (IOError(errnoCode: ECONNRESET, reason: ""), .unknown), (HTTPClientError.readTimeout, .unknown),
      (HTTPClientError.remoteConnectionClosed, .unknown), (CancellationError(), .cancelled),
    ]
    for (error, delivery) in table {
      let failure = HTTPFailure(error).transportError(bodyLeft: true, hasBody: true, to: url)
      #expect(failure.delivery == delivery)
      #expect(failure.message.hasPrefix("api.example.org:8443 "))
    }
    let reset = HTTPFailure(IOError(errnoCode: ECONNRESET, reason: ""))
    #expect(reset.transportError(bodyLeft: false, hasBody: true, to: url).delivery == .notSent)
  }

  @Test func `an answer over the limit is cut off`() async throws {
    let error = try await LoopbackServer.run(.large(5000)) { server in
      await failure(transport(server.port, largestAnswer: 4000))
    }

    #expect(error?.delivery == .unknown)
  }

  @Test func `cancelling ends the wait`() async throws {
    let error = try await LoopbackServer.run(.silence) { server in
      let transport = transport(server.port)
      let sending = Task { await failure(transport) }
      sending.cancel()
      return await sending.value
    }

    #expect(error?.delivery == .cancelled)
  }

  @Test func `no message holds a secret`() async throws {
    let errors = try await LoopbackServer.run(.closeAfterReading) { server in
      [
        await failure(transport(server.port)),
        await failure(CKHTTPTransport(baseURL: URL(string: "http://u:PASSWORD@127.0.0.1:\(server.port)")!)),
        await failure(CKHTTPTransport(baseURL: URL(string: "ftp://127.0.0.1")!)),
      ]
    }

    for error in errors {
      let message = try #require(error?.message)
      #expect(!message.contains("CRET") && !message.contains("PASSWORD"))
    }
  }

  @Test func `a request that was misdirected is sent again over a new connection, once`() async throws {
    let body = #"{"zones":[{"zoneID":{"zoneName":"notes"}}]}"#
    let misdirected = "HTTP/1.1 421 Misdirected Request\r\nContent-Length: 6\r\n\r\n<html>"
    let whole = "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    for (answers, connections, isFound) in [
      ([misdirected, whole], 2, true), ([misdirected, misdirected, whole], 2, false),
    ] {
      try await RawServer.run(answering: { number in [Array(answers[number - 1].utf8)] }) { server in
        let container = CKContainer(
          identifier: "iCloud.test",
          credential: .apiToken("t"),
          transport: transport(server.port)
        )
        let zones = try? await container.publicCloudDatabase.allRecordZones()

        #expect((zones?.map(\.zoneID.zoneName) == ["notes"]) == isFound)
        #expect(server.connections == connections)
      }
    }
  }

  @Test func `a request that asks for a new connection does not use an old one`() async throws {
    var lone = request
    lone.needsNewConnection = true
    let connections = try await LoopbackServer.run(.echo) { server in
      let transport = transport(server.port)
      for _ in 0..<2 { _ = try await transport.send(request) }
      _ = try await transport.send(lone)
      return server.connections
    }

    #expect(connections == 2)
  }

  @Test func `a transport that is shut down sends nothing, and may be shut down twice`() async throws {
    let error = try await LoopbackServer.run(.echo) { server in
      let transport = transport(server.port)
      await transport.shutdown()
      await transport.shutdown()
      return await failure(transport)
    }

    #expect(error?.delivery == .notSent)
  }
}
