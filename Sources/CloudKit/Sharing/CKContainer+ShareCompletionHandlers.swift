public import Foundation

// Each of these makes the `async` call of the same meaning and calls its handler once, on a thread of its own choice.

extension CKContainer {
  /// Tells what is known of a share by its URL and calls back.
  @preconcurrency
  public func fetchShareMetadata(
    with url: URL,
    completionHandler: @escaping @Sendable (CKShare.Metadata?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.shareMetadata(for: url) }
  }

  /// Tells what is known of shares by their URLs and calls back.
  @preconcurrency
  public func fetchShareMetadatas(
    for urls: [URL],
    completionHandler: @escaping @Sendable (Result<[URL: Result<CKShare.Metadata, any Error>], any Error>) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.shareMetadatas(for: urls) }
  }

  /// Takes part in a share and calls back.
  @preconcurrency
  public func accept(
    _ metadata: CKShare.Metadata,
    completionHandler: @escaping @Sendable (CKShare?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.accept(metadata) }
  }

  /// Takes part in shares and calls back.
  @preconcurrency
  public func accept(
    _ metadatas: [CKShare.Metadata],
    completionHandler: @escaping @Sendable (Result<[CKShare.Metadata: Result<CKShare, any Error>], any Error>) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.accept(metadatas) }
  }

  /// Makes somebody to be added to a share, by an email address, and calls back.
  @preconcurrency
  public func fetchShareParticipant(
    withEmailAddress emailAddress: String,
    completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.shareParticipant(forEmailAddress: emailAddress) }
  }

  /// Makes somebody to be added to a share, by a telephone number, and calls back.
  @preconcurrency
  public func fetchShareParticipant(
    withPhoneNumber phoneNumber: String,
    completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.shareParticipant(forPhoneNumber: phoneNumber) }
  }

  /// Makes somebody to be added to a share, by their user record, and calls back.
  @preconcurrency
  public func fetchShareParticipant(
    withUserRecordID userRecordID: CKRecord.ID,
    completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.shareParticipant(forUserRecordID: userRecordID) }
  }

  /// Makes people to be added to a share, by email addresses, and calls back.
  @preconcurrency
  public func fetchShareParticipants(
    forEmailAddresses emails: [String],
    completionHandler: @escaping @Sendable (Result<[String: Result<CKShare.Participant, any Error>], any Error>) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.shareParticipants(forEmailAddresses: emails) }
  }

  /// Makes people to be added to a share, by telephone numbers, and calls back.
  @preconcurrency
  public func fetchShareParticipants(
    forPhoneNumbers phoneNumbers: [String],
    completionHandler: @escaping @Sendable (Result<[String: Result<CKShare.Participant, any Error>], any Error>) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.shareParticipants(forPhoneNumbers: phoneNumbers) }
  }

  /// Makes people to be added to a share, by their user records, and calls back.
  @preconcurrency
  public func fetchShareParticipants(
    forUserRecordIDs userRecordIDs: [CKRecord.ID],
    completionHandler:
      @escaping @Sendable (Result<[CKRecord.ID: Result<CKShare.Participant, any Error>], any Error>) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.shareParticipants(forUserRecordIDs: userRecordIDs) }
  }
}
