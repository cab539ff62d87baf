import CloudKit
import CloudKitEmulator
import Foundation
import Testing

/// Two devices of a user with the reading list, which sync when the test says so.
@Suite(.timeLimit(.minutes(40))) struct ReadingListTests {
  private let emulator: Emulator
  private let database: CKDatabase
  private let first: ReadingList
  private let second: ReadingList
  private let book = Book(title: "Emma", edited: Self.time(0))

  /// A time of whole milliseconds, as the server keeps it.
  private static func time(_ seconds: Int) -> Date {
    Date(timeIntervalSinceReferenceDate: Double(721_692_800_123 + seconds * 1000) / 1000)
  }

  init() async throws {
    emulator = try Emulator()
    database = try emulatedContainer(emulator).privateCloudDatabase
    // A container in the cloud has what the last test left. Before the first test there is no zone.
    _ = try? await database.deleteRecordZone(withID: Book.zoneID)
    first = try ReadingList(database: emulatedContainer(emulator).privateCloudDatabase, automaticallySync: false)
    second = try ReadingList(database: emulatedContainer(emulator).privateCloudDatabase, automaticallySync: false)
  }

  /// Brings the book to both devices.
  private func share() async throws {
    await first.save([book])
    try await first.engine.sendChanges()
    try await second.engine.fetchChanges()
    try #require(await second.titles == ["Emma"])
  }

  private func wait(until isTrue: () async -> Bool) async {
    while await !isTrue(), !Task.isCancelled { await Task.yield() }
  }

  @Test func `a book that one device saves is on the other after a fetch`() async throws {
    await first.save([book])
    try await first.engine.sendChanges()

    try await second.engine.fetchChanges()

    #expect(await second.titles == ["Emma"])
    #expect(await first.engine.state.pendingRecordZoneChanges.isEmpty)
  }

  @Test func `a book that one device deletes is gone on the other after a fetch`() async throws {
    try await share()

    await second.delete(book)
    try await second.engine.sendChanges()
    try await first.engine.fetchChanges()

    #expect(await first.titles.isEmpty)
  }

  @Test func `edits on both devices are merged by the delegate`() async throws {
    try await share()
    await first.edit(book.id) { ($0.title, $0.edited) = ("Persuasion", Self.time(2)) }
    await second.edit(book.id) { ($0.title, $0.isRead, $0.edited) = ("Sanditon", true, Self.time(1)) }

    try await first.engine.sendChanges()
    let error = await #expect(throws: CKError.self) { try await second.engine.sendChanges() }
    #expect(error?.code == .partialFailure)
    try await second.engine.sendChanges()
    try await first.engine.fetchChanges()

    for device in [first, second] {
      #expect(await device.titles == ["Persuasion"])
      #expect(await device.books[book.id]?.isRead == true)
    }
  }

  @Test func `a sign-in, a sign-out and another user are reported as soon as the engine is made`() async throws {
    await first.save([book])
    await wait { await !first.accountChanges.isEmpty }
    let container = try emulatedContainer(emulator)
    let other = try emulatedContainer(emulator, user: "ben")
    let (ana, ben) = (try await container.userRecordID(), try await other.userRecordID())
    #expect(await first.accountChanges == [.signIn(currentUser: ana)])
    try await first.engine.sendChanges()
    let stored = try await first.stored()

    container.signOut()
    let (mine, theirs) = (container.privateCloudDatabase, other.privateCloudDatabase)
    let signedOut = try ReadingList(database: mine, automaticallySync: false, stored: stored)
    await signedOut.makeEngine()
    await wait { await !signedOut.accountChanges.isEmpty }
    let switched = try ReadingList(database: theirs, automaticallySync: false, stored: stored)
    await switched.makeEngine()
    await wait { await !switched.accountChanges.isEmpty }

    #expect(await signedOut.accountChanges == [.signOut(previousUser: ana)])
    #expect(await switched.accountChanges == [.switchAccounts(previousUser: ana, currentUser: ben)])
    for device in [signedOut, switched] { #expect(await device.titles.isEmpty) }
    #expect(await first.titles == ["Emma"])
  }

  @Test func `an app that makes its engine twice sends what it added to the first one`() async throws {
    await first.save([book])
    await first.makeEngine()

    try await first.engine.sendChanges()
    try await second.engine.fetchChanges()

    #expect(await second.titles == ["Emma"])
  }

  @Test func `unsent changes survive the encoding of the state`() async throws {
    try await share()
    let added = Book(title: "Persuasion", edited: Self.time(1))
    await first.save([added])
    await first.delete(book)
    // A fetch reports the state before it begins.
    try await first.engine.fetchChanges()

    let again = try ReadingList(database: database, automaticallySync: false, stored: try await first.stored())
    #expect(
      await again.engine.state.pendingRecordZoneChanges == [
        .saveRecord(added.recordID), .deleteRecord(book.recordID),
      ]
    )
    try await again.engine.sendChanges()
    try await second.engine.fetchChanges()

    #expect(await second.titles == ["Persuasion"])
  }

  @Test func `a zone that was deleted on the server is made again by the device with changes`() async throws {
    try await share()
    try await database.deleteRecordZone(withID: Book.zoneID)

    try await second.engine.fetchChanges()
    #expect(await second.titles.isEmpty)
    await first.edit(book.id) { ($0.title, $0.edited) = ("Persuasion", Self.time(1)) }
    await #expect(throws: CKError.self) { try await first.engine.sendChanges() }
    try await first.engine.sendChanges()
    try await second.engine.fetchChanges()

    #expect(await second.titles == ["Persuasion"])
  }

  @Test func `a date is the same on both devices`() async throws {
    try await share()

    #expect(await second.books[book.id]?.edited == book.edited)
  }

  @Test func `250 books are sent in two requests`() async throws {
    let books = (0..<250).map { Book(title: "Book \($0)", edited: Self.time($0)) }
    await first.save(books)

    try await first.engine.sendChanges()
    try await second.engine.fetchChanges()

    #expect(await first.batches == [200, 50])
    #expect(await second.titles == books.map(\.title).sorted())
  }
}
