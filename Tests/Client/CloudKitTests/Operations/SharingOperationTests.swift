import CloudKit
import Foundation
import JSONText
import Synchronization
import Testing

/// What blocks were told, in order.
private final class Told: Sendable {
  private let lines = Mutex<[String]>([])

  var all: [String] { lines.withLock { $0 } }
  func note(_ line: String) { lines.withLock { $0.append(line) } }

  static func text(_ error: (any Error)?) -> String {
    guard let error = error as? CKError else { return error == nil ? "ok" : "no CKError" }
    let items = error.partialErrorsByItemID?.keys.compactMap { ($0.base as? URL)?.lastPathComponent }.sorted()
    return items.map { "\(error.code) \($0)" } ?? "\(error.code)"
  }

  static func text<Value>(_ result: Result<Value, any Error>) -> String {
    switch result {
    case .success: "ok"
    case .failure(let error): text(error)
    }
  }
}

@Suite(.serialized, .timeLimit(.minutes(40))) struct SharingOperationTests {
  private let told = Told()
  private let urls = ["0AbC", "0Gone"].compactMap { URL(string: "https://www.icloud.com/share/\($0)") }

  private func run(_ operation: CKOperation, in container: CKContainer) async {
    await withCheckedContinuation { continuation in
      operation.completionBlock = { continuation.resume() }
      container.add(operation)
    }
  }

  private func answer(_ status: String, _ others: String = "") -> ScriptedServer.Answer {
    .json(
      """
      {"results":[{"shortGUID":{"value":"0AbC"},"containerIdentifier":"iCloud.test","databaseScope":"SHARED",
      "zoneID":{"zoneName":"notes","ownerRecordName":"_0f"},"rootRecordName":"list-1",
      "rootRecord":\(ShareFixtures.root(tag: "1")),
      "share":\(ShareFixtures.share(others: [ShareFixtures.guest])),"ownerIdentity":{"userRecordName":"_0f"},
      "participantType":"USER","participantPermission":"READ_WRITE","participantStatus":"\(status)"}\(others)]}
      """
    )
  }

  @Test func `shares are read about and accepted`() async throws {
    let server = ScriptedServer(
      answer("INVITED", #",{"shortGUID":"0Gone","reason":"no","serverErrorCode":"NOT_FOUND"}"#),
      answer("ACCEPTED"),
      .failure(.unknown)
    )
    let container = server.userContainer()
    let read = CKFetchShareMetadataOperation(shareURLs: urls)
    read.shouldFetchRootRecord = true
    read.rootRecordDesiredKeys = ["title"]
    var metadatas: [CKShare.Metadata] = []
    read.perShareMetadataResultBlock = { [told] url, result in
      if case .success(let metadata) = result { metadatas.append(metadata) }
      told.note("\(url.lastPathComponent) \(Told.text(result))")
    }
    read.perShareMetadataBlock = { [told] _, _, _ in told.note("never called") }
    read.fetchShareMetadataResultBlock = { [told] in told.note("result \(Told.text($0))") }
    read.fetchShareMetadataCompletionBlock = { [told] in told.note("completion \(Told.text($0))") }

    await run(read, in: container)
    #expect(metadatas.map(\.rootRecord?.recordID.recordName) == ["list-1"])
    #expect(try server.bodies()[0]["shortGUIDs"]?.elements.first?["shouldFetchRootRecord"] == .bool(true))

    for _ in 0..<2 {
      let accept = CKAcceptSharesOperation(shareMetadatas: metadatas)
      accept.perShareCompletionBlock = { [told] metadata, share, error in
        told.note("\(metadata.share.recordID.recordName) \(share != nil) \(Told.text(error))")
      }
      accept.acceptSharesResultBlock = { [told] in told.note("result \(Told.text($0))") }
      accept.acceptSharesCompletionBlock = { [told] in told.note("completion \(Told.text($0))") }
      await run(accept, in: container)
    }

    #expect(
      told.all == [
        "0AbC ok", "0Gone unknownItem", "result partialFailure [\"0Gone\"]", "completion partialFailure [\"0Gone\"]",
        "share-1 true ok", "result ok", "completion ok",
        "share-1 false serverResponseLost", "result serverResponseLost", "completion serverResponseLost",
      ]
    )
  }

  @Test func `shares that are refused are named by their URLs`() async throws {
    let server = ScriptedServer(
      answer("INVITED"),
      .json(#"{"results":[{"shortGUID":"0AbC","reason":"no","serverErrorCode":"ACCESS_DENIED"}]}"#)
    )
    let container = server.userContainer()
    let accept = CKAcceptSharesOperation(shareMetadatas: [try await container.shareMetadata(for: urls[0])])
    accept.perShareResultBlock = { [told] in told.note("\($0.share.recordID.recordName) \(Told.text($1))") }
    accept.acceptSharesCompletionBlock = { [told] in told.note(Told.text($0)) }

    await run(accept, in: container)

    #expect(told.all == ["share-1 permissionFailure", "partialFailure [\"0AbC\"]"])
  }

  @Test func `users are found and made participants`() async throws {
    let users = #"{"users":[{"userRecordName":"_91","lookupInfo":{"emailAddress":"a@b"}}]}"#
    let server = ScriptedServer(.json(users), .json(users), .json(users), .json(users), .failure(.notSent))
    let container = server.userContainer()
    let infos = CKUserIdentity.LookupInfo.lookupInfos(withEmails: ["c@d", "a@b"])
    let discover = CKDiscoverUserIdentitiesOperation(userIdentityLookupInfos: infos)
    discover.userIdentityDiscoveredBlock = { [told] in
      told.note("\($0.userRecordID?.recordName ?? "") \($1.emailAddress ?? "")")
    }
    discover.discoverUserIdentitiesResultBlock = { [told] in told.note("result \(Told.text($0))") }
    discover.discoverUserIdentitiesCompletionBlock = { [told] in told.note("completion \(Told.text($0))") }
    let contacts = CKDiscoverAllUserIdentitiesOperation()
    contacts.userIdentityDiscoveredBlock = { [told] in told.note($0.userRecordID?.recordName ?? "") }
    contacts.discoverAllUserIdentitiesResultBlock = { [told] in told.note("result \(Told.text($0))") }
    contacts.discoverAllUserIdentitiesCompletionBlock = { [told] in told.note("completion \(Told.text($0))") }
    let participants = CKFetchShareParticipantsOperation(userIdentityLookupInfos: infos)
    participants.perShareParticipantResultBlock = { [told] in
      told.note("\($0.emailAddress ?? "") \((try? $1.get())?.userIdentity.hasiCloudAccount ?? false)")
    }
    participants.fetchShareParticipantsResultBlock = { [told] in told.note("result \(Told.text($0))") }
    let older = CKFetchShareParticipantsOperation(userIdentityLookupInfos: infos)
    older.shareParticipantFetchedBlock = { [told] in told.note("\($0.userIdentity.hasiCloudAccount)") }
    older.fetchShareParticipantsCompletionBlock = { [told] in told.note("completion \(Told.text($0))") }
    let unreachable = CKFetchShareParticipantsOperation(userIdentityLookupInfos: infos)
    unreachable.perShareParticipantResultBlock = { [told] in told.note("\($0.emailAddress ?? "") \(Told.text($1))") }
    unreachable.fetchShareParticipantsCompletionBlock = { [told] in told.note("completion \(Told.text($0))") }

    for operation in [discover, contacts, participants, older, unreachable] { await run(operation, in: container) }

    #expect(
      told.all == [
        "_91 a@b", "result ok", "completion ok", "_91", "result ok", "completion ok",
        "c@d false", "a@b true", "result ok", "false", "true", "completion ok",
        "c@d networkUnavailable", "a@b networkUnavailable", "completion networkUnavailable",
      ]
    )
  }

  @Test func `an operation of a container that is cancelled asks nothing`() async throws {
    let server = ScriptedServer()
    let read = CKFetchShareMetadataOperation(shareURLs: urls)
    read.perShareMetadataBlock = { [told] in told.note("\($0.lastPathComponent) \($1 == nil) \(Told.text($2))") }
    read.fetchShareMetadataResultBlock = { [told] in told.note(Told.text($0)) }
    read.cancel()

    await run(read, in: server.userContainer())

    #expect(
      told.all == ["0AbC true operationCancelled", "0Gone true operationCancelled", "operationCancelled"]
    )
    #expect(server.operations.isEmpty)
  }

  @Test func `the newest web-auth token is given for its own API token alone`() async throws {
    let server = ScriptedServer()
    let container = server.userContainer()
    for token in ["token", "another"] {
      let operation = CKFetchWebAuthTokenOperation(apiToken: token)
      operation.fetchWebAuthTokenResultBlock = { [told] in told.note((try? $0.get()) ?? Told.text($0)) }
      operation.fetchWebAuthTokenCompletionBlock = { [told] in told.note("\($0 ?? "none") \(Told.text($1))") }
      await run(operation, in: container)
    }

    #expect(told.all == ["user", "user ok", "notAuthenticated", "none notAuthenticated"])
    #expect(server.operations.isEmpty)
  }
}
