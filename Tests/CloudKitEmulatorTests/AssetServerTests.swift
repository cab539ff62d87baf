import CloudKitEmulator
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct AssetServerTests {
  @Test func `a file of 3 MB goes through the server under its own address`() async throws {
    let fixture = try Fixture.withZone()
    let server = EmulatorServer(fixture.emulator, now: { fixture.now })
    let port = try await server.start()
    let content = String(repeating: "0123456789", count: 300_000)

    let wire = try Wire(port: port)
    wire.post(
      "assets/upload",
      #"{"zoneID":{"zoneName":"notes"},"tokens":[{"recordName":"a","recordType":"Note","fieldName":"photo"}]}"#
    )
    let tokens = try #require(await wire.receive()).body
    let upload = try #require(tokens.firstMatch(of: /"url":"http:\/\/here([^"]*)"/)?.1)
    wire.send("POST \(upload) HTTP/1.1\r\nHost: here\r\nContent-Length: \(content.utf8.count)\r\n\r\n\(content)")
    let answer = try #require(await wire.receive())
    let file = try #require(answer.body.firstMatch(of: /{"singleFile":({[^}]*})}/)?.1)
    _ = try fixture.modify(Fixture.save("a", Fixture.asset(String(file))))
    let download = try fixture.downloadURL("a").replacing("http://emulator.invalid", with: "")
    wire.send("GET \(download) HTTP/1.1\r\nHost: here\r\n\r\n")

    #expect(try #require(await wire.receive()).body == content)
    try await server.stop()
  }
}
