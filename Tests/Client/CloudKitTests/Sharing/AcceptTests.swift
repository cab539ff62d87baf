import CloudKit
import Foundation
import JSONText
import Synchronization
import Testing

@Suite(.serialized) struct AcceptTests {
  private func result(status: String, owner: Bool = false, extra: String = "") -> String {
    """
    {"shortGUID":{"value":"0AbC","shouldFetchRootRecord":true},"containerIdentifier":"iCloud.test",
     "environment":"DEVELOPMENT","databaseScope":"\(owner ? "PRIVATE" : "SHARED")",
     "zoneID":{"zoneName":"notes","ownerRecordName":"_0f"},"rootRecordName":"list-1",
     "share":\(ShareFixtures.share(others: [ShareFixtures.guest])),
     "ownerIdentity":{"userRecordName":"_0f"},"participantType":"USER","participantPermission":"READ_WRITE",
     "participantStatus":"\(status)"\(extra)}
    """
  }

  private let url = URL(string: "https://www.icloud.com/share/0AbC#Groceries")!

  @Test func `a URL is resolved to the share and what the user is to it`() async throws {
    let server = ScriptedServer(.json(#"{"results":[\#(result(status: "INVITED"))]}"#))

    let metadata = try await server.userContainer().shareMetadata(for: url)

    #expect(server.operations == ["development/public/records/resolve"])
    #expect(server.texts == [#"{"shortGUIDs":[{"shouldFetchRootRecord":false,"value":"0AbC"}]}"#])
    let zone = CKRecordZone.ID(zoneName: "notes", ownerName: "_0f")
    #expect(metadata.containerIdentifier == "iCloud.test")
    #expect(metadata.share.recordID == CKRecord.ID(recordName: "share-1", zoneID: zone))
    #expect(metadata.hierarchicalRootRecordID == CKRecord.ID(recordName: "list-1", zoneID: zone))
    #expect(metadata.participantRole == .privateUser)
    #expect(metadata.participantPermission == .readWrite)
    #expect(metadata.participantStatus == .pending)
    #expect(metadata.ownerIdentity.userRecordID?.recordName == "_0f")
    #expect(metadata.rootRecord == nil)
  }

  @Test func `the owner's own share lies in the owner's own zone`() async throws {
    let server = ScriptedServer(.json(#"{"results":[\#(result(status: "ACCEPTED", owner: true))]}"#))
    let metadata = try await server.userContainer().shareMetadata(for: url)
    #expect(metadata.share.recordID.zoneID == ShareFixtures.zone)
  }

  @Test func `each URL has its own result`() async throws {
    let server = ScriptedServer(
      .json(
        #"""
        {"results":[{"shortGUID":"0Gone","reason":"no","serverErrorCode":"NOT_FOUND"},
        {"shortGUID":{"value":"0Many"},"potentialMatchList":[{"participantId":"P2"}]},
        {"shortGUID":{"value":"0Bare"}},\#(result(status: "INVITED"))]}
        """#
      )
    )
    let urls = ["share/0Gone", "share/0Many", "share/0Bare", "share/0AbC", "photos/0AbC", "share/0Lost"].compactMap {
      URL(string: "https://www.icloud.com/\($0)")
    }

    let results = try await server.userContainer().shareMetadatas(for: urls + [urls[0]])

    let codes = urls.map { url -> CKError.Code? in
      if case .failure(let error as CKError)? = results[url] { error.code } else { nil }
    }
    #expect(
      codes == [
        .unknownItem, .participantMayNeedVerification, .internalError, nil, .invalidArguments, .internalError,
      ]
    )
    #expect(try server.bodies()[0]["shortGUIDs"]?.elements.count == 5)
  }

  @Test func `accepting makes the share the user's to read`() async throws {
    let server = ScriptedServer(
      .json(#"{"results":[\#(result(status: "INVITED"))]}"#),
      .json(#"{"results":[\#(result(status: "ACCEPTED"))]}"#)
    )
    let container = server.userContainer()
    let metadata = try await container.shareMetadata(for: url)

    let share = try await container.accept(metadata)

    #expect(server.operations.last == "development/public/records/accept")
    #expect(share.recordID == metadata.share.recordID)
  }

  @Test func `a share of another container is not accepted here`() async throws {
    let server = ScriptedServer(.json(#"{"results":[\#(result(status: "INVITED"))]}"#))
    let metadata = try await server.userContainer().shareMetadata(for: url)
    let other = CKContainer(identifier: "iCloud.other", credential: nil, transport: server)

    #expect(await errorCode { try await other.accept(metadata) } == .badContainer)
    #expect(server.operations.count == 1)
  }

  @Test func `a lost answer to an acceptance is told as lost`() async throws {
    let server = ScriptedServer(.json(#"{"results":[\#(result(status: "INVITED"))]}"#), .failure(.unknown))
    let container = server.userContainer()
    let metadata = try await container.shareMetadata(for: url)

    #expect(await errorCode { try await container.accept(metadata) } == .serverResponseLost)
  }

  @Test func `a lost answer to the shares after the first 200 leaves the others their results`() async throws {
    let names = (0..<201).map { "0N\($0)" }
    let urls = try names.map { try #require(URL(string: "https://www.icloud.com/share/\($0)")) }
    func answer(_ names: ArraySlice<String>, _ status: String) -> ScriptedServer.Answer {
      let results = names.map { result(status: status).replacing("0AbC", with: $0) }
      return .json(#"{"results":[\#(results.joined(separator: ","))]}"#)
    }
    let server = ScriptedServer(
      answer(names[..<200], "INVITED"),
      answer(names[200...], "INVITED"),
      answer(names[..<200], "ACCEPTED"),
      .failure(.unknown)
    )
    let container = server.userContainer()
    let found = try await container.shareMetadatas(for: urls)
    let metadatas = try urls.map { try #require(try found[$0]?.get()) }

    let results = try await container.accept(metadatas)

    #expect(metadatas.count { (try? results[$0]?.get()) != nil } == 200)
    #expect(await errorCode { try results[metadatas[200]]?.get() } == .serverResponseLost)
  }

  @Test func `closures are called once with the answer or the error`() async throws {
    let server = ScriptedServer(.json(#"{"results":[\#(result(status: "INVITED"))]}"#))
    let container = server.userContainer()

    let metadata = try await withCheckedThrowingContinuation { continuation in
      container.fetchShareMetadata(with: url) { metadata, error in
        if let metadata { continuation.resume(returning: metadata) } else { continuation.resume(throwing: error!) }
      }
    }
    let error = await withCheckedContinuation { continuation in
      container.accept(metadata) { share, error in
        #expect(share == nil)
        continuation.resume(returning: error as? CKError)
      }
    }

    #expect(metadata.share.url?.absoluteString == url.absoluteString)
    #expect(error?.code == .networkUnavailable)
  }
}
