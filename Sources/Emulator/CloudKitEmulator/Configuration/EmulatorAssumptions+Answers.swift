/// The values of the switches that have named values.
extension EmulatorAssumptions {
  /// The string signed in place of the body hash for a request without a body.
  public enum EmptyBodySignature: String, Sendable, Hashable, CaseIterable {
    /// Either of the other two.
    case either
    /// The empty string.
    case emptyText
    /// The hash of zero bytes.
    case hashOfNothing
  }

  /// The response to a request without credentials.
  public enum MissingCredentials: String, Sendable, Hashable, CaseIterable {
    /// HTTP 400 `BAD_REQUEST`.
    case badRequest
    /// HTTP 401 `AUTHENTICATION_FAILED`.
    case authenticationFailed
  }

  /// The format of a failed atomic batch.
  public enum AtomicFailure: String, Sendable, Hashable, CaseIterable {
    /// HTTP 200 with an error for each record.
    case failsEachRecord
    /// HTTP 400 with `ATOMIC_ERROR` for the request.
    case refusesRequest
  }

  /// The error for an update without a change tag.
  public enum UpdateWithoutTag: String, Sendable, Hashable, CaseIterable {
    /// `BAD_REQUEST`.
    case badRequest
    /// `CONFLICT`.
    case conflict
  }

  /// The error for an update of a record that does not exist.
  public enum MissingUpdate: String, Sendable, Hashable, CaseIterable {
    /// `NOT_FOUND`.
    case notFound
    /// `CONFLICT`.
    case conflict
  }

  /// The result of a deletion without a change tag.
  public enum DeletionWithoutTag: String, Sendable, Hashable, CaseIterable {
    /// The record is deleted.
    case isForced
    /// `BAD_REQUEST`.
    case badRequest
  }

  /// The result of a forced deletion of a record that does not exist.
  public enum MissingForceDelete: String, Sendable, Hashable, CaseIterable {
    /// Success, as if the record had existed.
    case succeeds
    /// `NOT_FOUND`.
    case notFound
  }

  /// The result of two operations on one record.
  public enum RepeatedRecord: String, Sendable, Hashable, CaseIterable {
    /// `BAD_REQUEST` for the request.
    case refusesRequest
    /// `BAD_REQUEST` for the later operation only.
    case failsAlone
  }

  /// The type of an encrypted TIMESTAMP or LOCATION, beside `isEncrypted`.
  public enum EncryptedType: String, Sendable, Hashable, CaseIterable {
    /// `TIMESTAMP` and `LOCATION`.
    case plain
    /// `ENCRYPTED_TIMESTAMP` and `ENCRYPTED_LOCATION`, as bytes have `ENCRYPTED_BYTES`.
    case ofItsOwn
  }

  /// The result of writing a TIMESTAMP with a fraction of a millisecond.
  public enum TimestampFraction: String, Sendable, Hashable, CaseIterable {
    /// `BAD_REQUEST`.
    case isRefused
    /// The time is rounded down to whole milliseconds.
    case isDropped
  }

  /// The error for a request that exceeds a limit.
  public enum ExceededLimit: String, Sendable, Hashable, CaseIterable {
    /// `BAD_REQUEST`.
    case badRequest
    /// `QUOTA_EXCEEDED`.
    case quotaExceeded
  }

  /// The error for a name that the schema does not have.
  public enum Refusal: String, Sendable, Hashable, CaseIterable {
    /// `BAD_REQUEST`.
    case badRequest
    /// `NOT_FOUND`.
    case notFound
  }

  /// The order of a query without sort descriptors.
  public enum UnsortedOrder: String, Sendable, Hashable, CaseIterable {
    /// By record name.
    case recordName
    /// Oldest record first.
    case creation
  }

  /// The order within a page of changes.
  public enum ChangesOrder: String, Sendable, Hashable, CaseIterable {
    /// Oldest change first.
    case lastChange
    /// By record name.
    case recordName
  }

  /// The result of an empty sync token.
  public enum EmptySyncToken: String, Sendable, Hashable, CaseIterable {
    /// Rejected like any other invalid token.
    case isRefused
    /// Treated as no token: the feed starts over.
    case startsOver
  }

  /// The error for an expired sync token.
  public enum ExpiredSyncToken: String, Sendable, Hashable, CaseIterable {
    /// `BAD_REQUEST` for the zone.
    case badRequest
    /// `BAD_REQUEST` for the whole request, including its other zones.
    case refusesRequest
    /// `CHANGE_TOKEN_EXPIRED` for the zone, a code that is found only in community code.
    case changeTokenExpired
  }

  /// The format of the response of `users/caller`.
  public enum CallerEnvelope: String, Sendable, Hashable, CaseIterable {
    /// The identity and a list that contains it.
    case both
    /// The list only, as documented.
    case list
    /// The identity only, as clients decode it.
    case identity
  }

  /// The result of creating a zone that exists.
  public enum ExistingZone: String, Sendable, Hashable, CaseIterable {
    /// Success, as if the zone were new.
    case succeeds
    /// `EXISTS`.
    case exists
  }

  /// The result of deleting a zone that does not exist.
  public enum MissingZone: String, Sendable, Hashable, CaseIterable {
    /// `ZONE_NOT_FOUND`.
    case zoneNotFound
    /// Success, as if the zone had existed.
    case succeeds
  }

  /// The error for deleting the default zone.
  public enum DefaultZoneDeletion: String, Sendable, Hashable, CaseIterable {
    /// `BAD_REQUEST`.
    case badRequest
    /// `ACCESS_DENIED`.
    case accessDenied
  }

  /// The error for resolving or accepting a share without an invitation.
  public enum Uninvited: String, Sendable, Hashable, CaseIterable {
    /// `NOT_FOUND`, as if the share did not exist.
    case notFound
    /// `ACCESS_DENIED`.
    case accessDenied
  }
}
