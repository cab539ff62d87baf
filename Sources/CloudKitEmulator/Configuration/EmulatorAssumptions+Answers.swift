/// The positions of the switches that have names.
extension EmulatorAssumptions {
  /// What is signed for a request without a body.
  public enum EmptyBodySignature: String, Sendable, Hashable, CaseIterable {
    /// Both of the others.
    case either
    /// Nothing stands where the hash would.
    case emptyText
    /// The hash of zero bytes.
    case hashOfNothing
  }

  /// What a request without any credentials is answered.
  public enum MissingCredentials: String, Sendable, Hashable, CaseIterable {
    /// 400.
    case badRequest
    /// 401.
    case authenticationFailed
  }

  /// The shape of a failed atomic batch.
  public enum AtomicFailure: String, Sendable, Hashable, CaseIterable {
    /// HTTP 200 with an error for each record.
    case failsEachRecord
    /// HTTP 400 with `ATOMIC_ERROR` for the request.
    case refusesRequest
  }

  /// An update without a change tag.
  public enum UpdateWithoutTag: String, Sendable, Hashable, CaseIterable {
    /// `BAD_REQUEST`.
    case badRequest
    /// `CONFLICT`.
    case conflict
  }

  /// An update of a record that does not exist.
  public enum MissingUpdate: String, Sendable, Hashable, CaseIterable {
    /// `NOT_FOUND`.
    case notFound
    /// `CONFLICT`.
    case conflict
  }

  /// A deletion without a change tag.
  public enum DeletionWithoutTag: String, Sendable, Hashable, CaseIterable {
    /// The record is deleted.
    case isForced
    /// `BAD_REQUEST`.
    case badRequest
  }

  /// A forced deletion of a record that does not exist.
  public enum MissingForceDelete: String, Sendable, Hashable, CaseIterable {
    /// Answered as if it had been there.
    case succeeds
    /// `NOT_FOUND`.
    case notFound
  }

  /// Two operations on one record.
  public enum RepeatedRecord: String, Sendable, Hashable, CaseIterable {
    /// `BAD_REQUEST` for the request.
    case refusesRequest
    /// `BAD_REQUEST` for the later operation alone.
    case failsAlone
  }

  /// A limit that a request exceeds.
  public enum ExceededLimit: String, Sendable, Hashable, CaseIterable {
    /// `BAD_REQUEST`.
    case badRequest
    /// `QUOTA_EXCEEDED`.
    case quotaExceeded
  }

  /// A name that the schema does not know.
  public enum Refusal: String, Sendable, Hashable, CaseIterable {
    /// `BAD_REQUEST`.
    case badRequest
    /// `NOT_FOUND`.
    case notFound
  }

  /// The order of a query that asks for none.
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

  /// An empty sync token.
  public enum EmptySyncToken: String, Sendable, Hashable, CaseIterable {
    /// A token like any other that is broken.
    case isRefused
    /// No token: everything comes again.
    case startsOver
  }

  /// The refusal of a sync token.
  public enum ExpiredSyncToken: String, Sendable, Hashable, CaseIterable {
    /// `BAD_REQUEST` in the zone's element.
    case badRequest
    /// `BAD_REQUEST` for the request, whatever else it asked for.
    case refusesRequest
    /// `CHANGE_TOKEN_EXPIRED` in the zone's element, a code that only community code has.
    case changeTokenExpired
  }

  /// The answer of `users/caller`.
  public enum CallerEnvelope: String, Sendable, Hashable, CaseIterable {
    /// The identity, and a list with it.
    case both
    /// The list alone, as documented.
    case list
    /// The identity alone, as clients decode it.
    case identity
  }

  /// Creating a zone that exists.
  public enum ExistingZone: String, Sendable, Hashable, CaseIterable {
    /// Answered as if it were new.
    case succeeds
    /// `EXISTS`.
    case exists
  }

  /// Deleting a zone that does not exist.
  public enum MissingZone: String, Sendable, Hashable, CaseIterable {
    /// `ZONE_NOT_FOUND`.
    case zoneNotFound
    /// Answered as if it had been there.
    case succeeds
  }

  /// Deleting the default zone.
  public enum DefaultZoneDeletion: String, Sendable, Hashable, CaseIterable {
    /// `BAD_REQUEST`.
    case badRequest
    /// `ACCESS_DENIED`.
    case accessDenied
  }

  /// A share whose caller is not invited.
  public enum Uninvited: String, Sendable, Hashable, CaseIterable {
    /// `NOT_FOUND`, as if there were none.
    case notFound
    /// `ACCESS_DENIED`.
    case accessDenied
  }
}
