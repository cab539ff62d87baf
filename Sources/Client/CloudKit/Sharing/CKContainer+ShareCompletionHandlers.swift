public import Foundation

// These methods call their `async` counterparts and call the handler once, on an unspecified thread.

extension CKContainer {
  /// Fetches the metadata of a share by its URL and calls the handler.
  @preconcurrency
  public func fetchShareMetadata(
    with url: URL,
    completionHandler: @escaping @Sendable (CKShare.Metadata?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.shareMetadata(for: url) }
  }

  /// Fetches the metadata of shares by their URLs and calls the handler.
  @preconcurrency
  public func fetchShareMetadatas(
    for urls: [URL],
    completionHandler: @escaping @Sendable (Result<[URL: Result<CKShare.Metadata, any Error>], any Error>) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.shareMetadatas(for: urls) }
  }

  /// Accepts a share and calls the handler.
  @preconcurrency
  public func accept(
    _ metadata: CKShare.Metadata,
    completionHandler: @escaping @Sendable (CKShare?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.accept(metadata) }
  }

  /// Accepts shares and calls the handler.
  @preconcurrency
  public func accept(
    _ metadatas: [CKShare.Metadata],
    completionHandler: @escaping @Sendable (Result<[CKShare.Metadata: Result<CKShare, any Error>], any Error>) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.accept(metadatas) }
  }

  /// Creates a participant to add to a share from an email address and calls the handler.
  @preconcurrency
  public func fetchShareParticipant(
    withEmailAddress emailAddress: String,
    completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.shareParticipant(forEmailAddress: emailAddress) }
  }

  /// Creates a participant to add to a share from a phone number and calls the handler.
  @preconcurrency
  public func fetchShareParticipant(
    withPhoneNumber phoneNumber: String,
    completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.shareParticipant(forPhoneNumber: phoneNumber) }
  }

  /// Creates a participant to add to a share from a user record and calls the handler.
  @preconcurrency
  public func fetchShareParticipant(
    withUserRecordID userRecordID: CKRecord.ID,
    completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.shareParticipant(forUserRecordID: userRecordID) }
  }

  /// Creates participants to add to a share from email addresses and calls the handler.
  @preconcurrency
  public func fetchShareParticipants(
    forEmailAddresses emails: [String],
    completionHandler: @escaping @Sendable (Result<[String: Result<CKShare.Participant, any Error>], any Error>) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.shareParticipants(forEmailAddresses: emails) }
  }

  /// Creates participants to add to a share from phone numbers and calls the handler.
  @preconcurrency
  public func fetchShareParticipants(
    forPhoneNumbers phoneNumbers: [String],
    completionHandler: @escaping @Sendable (Result<[String: Result<CKShare.Participant, any Error>], any Error>) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.shareParticipants(forPhoneNumbers: phoneNumbers) }
  }

  /// Creates participants to add to a share from user records and calls the handler.
  @preconcurrency
  public func fetchShareParticipants(
    forUserRecordIDs userRecordIDs: [CKRecord.ID],
    completionHandler:
      @escaping @Sendable (Result<[CKRecord.ID: Result<CKShare.Participant, any Error>], any Error>) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.shareParticipants(forUserRecordIDs: userRecordIDs) }
  }
}
