import CloudKit
import Foundation
import Testing

@Suite(.serialized) struct UserTests {
  @Test func `users are found by what they were looked for, in the server's spelling or ours`() async throws {
    let server = ScriptedServer(
      .json(
        #"""
        {"users":[{"userRecordName":"_91","lookupInfo":{"emailAddress":"ana@example.org"},
        "nameComponents":{"givenName":"Ana","familyName":"Ruiz"}}]}
        """#
      ),
      .json(#"{"users":[{"userRecordName":"_92","lookupInfo":{"phoneNumber":"+34600111222"}}]}"#),
      .json(#"{"users":[]}"#)
    )
    let container = server.userContainer()

    let found = try await container.userIdentities(forEmailAddresses: ["Ana@example.org", "bob@example.org"])
    #expect(found.keys.sorted() == ["Ana@example.org"])
    let ana = try #require(found["Ana@example.org"])
    #expect(ana.userRecordID?.recordName == "_91")
    #expect(ana.nameComponents?.familyName == "Ruiz")
    #expect(ana.hasiCloudAccount)
    #expect(
      server.texts == [#"{"lookupInfos":[{"emailAddress":"Ana@example.org"},{"emailAddress":"bob@example.org"}]}"#]
    )
    #expect(try await container.userIdentity(forPhoneNumber: "+34 600 111-222")?.userRecordID?.recordName == "_92")
    #expect(try await container.userIdentity(forUserRecordID: CKRecord.ID(recordName: "_93")) == nil)
    #expect(server.operations.allSatisfy { $0 == "development/public/users/discover" })
  }

  @Test func `somebody whom the server does not show can be invited all the same`() async throws {
    let server = ScriptedServer(.json(#"{"users":[{"userRecordName":"_91","lookupInfo":{"emailAddress":"a@b"}}]}"#))

    let results = try await server.userContainer().shareParticipants(forEmailAddresses: ["a@b", "c@d"])

    let known = try #require(try results["a@b"]?.get())
    let stranger = try #require(try results["c@d"]?.get())
    #expect(known.userIdentity.hasiCloudAccount)
    #expect(!stranger.userIdentity.hasiCloudAccount)
    #expect(stranger.userIdentity.lookupInfo?.emailAddress == "c@d")
    #expect(stranger.role == .privateUser)
    #expect(stranger.permission == .readOnly)
    #expect(stranger.acceptanceStatus == .pending)
    #expect(known != stranger)
  }

  @Test func `the caller is told flat or in a list`() async throws {
    let server = ScriptedServer(
      .json(#"{"userRecordName":"_a","users":[{"userRecordName":"_b"}]}"#),
      .json(#"{"users":[{"userRecordName":"_b"}]}"#),
      .json(#"{"users":[]}"#)
    )
    let container = server.userContainer()

    #expect(try await container.userRecordID().recordName == "_a")
    #expect(try await container.userRecordID().recordName == "_b")
    #expect(await errorCode { try await container.userRecordID() } == .internalError)
  }

  @Test func `the server's failure to list contacts is told`() async throws {
    let server = ScriptedServer(.json(#"{"serverErrorCode":"INTERNAL_ERROR","reason":"Internal error"}"#, status: 500))
    let container = server.userContainer()

    let error = await withCheckedContinuation { continuation in
      container.discoverAllIdentities { _, error in continuation.resume(returning: error as? CKError) }
    }

    #expect(error?.code == .internalError)
    #expect(error?.serverErrorCode == "INTERNAL_ERROR")
  }

  @Test func `a signed-in user has granted what there is to grant`() async throws {
    let server = ScriptedServer()
    #expect(try await server.userContainer().requestApplicationPermission(.userDiscoverability) == .granted)
    #expect(
      await errorCode { try await server.container().applicationPermissionStatus(for: .userDiscoverability) }
        == .notAuthenticated
    )
    let status = await withCheckedContinuation { continuation in
      server.container().status(forApplicationPermission: .userDiscoverability) { status, error in
        #expect(error is CKError)
        continuation.resume(returning: status)
      }
    }
    #expect(status == .couldNotComplete)
    #expect(server.operations.isEmpty)
  }
}
