/// The emulator's behaviour where the real service's behaviour is unknown.
///
/// The question numbers are those of the handbook's page "Protocol 8: Open questions"
/// (`Handbook/Protocol/Protocol-8-OpenQuestions.md`), which has what is known. The values other than the default are
/// behaviours that the real service may have, so that a client can be tested against all of them.
public struct EmulatorAssumptions: Sendable, Hashable {
  // MARK: Requests and credentials

  /// Question 2: the signature of a request without a body. Assumed: clients sign either form, and both are accepted.
  public var emptyBodySignature = EmptyBodySignature.either
  /// Question 3: whether the list operations, which are documented for GET, accept POST. Assumed: yes, as on
  /// first-party hosts.
  public var listsTakePost = true
  /// Question 20: how far a signature's date may be ahead of the server's clock. Assumed: ten minutes.
  public var futureSkew: Duration = .seconds(600)
  /// Question 21: the response to a request without credentials. Assumed: 400.
  public var missingCredentials = MissingCredentials.badRequest
  /// Question 22: the number of requests per second of one caller, beyond which requests are `THROTTLED`. Assumed: no
  /// limit.
  public var requestsPerSecond: Int?
  /// Question 25: whether `retryAfter` is also sent as the HTTP header `Retry-After`. Assumed: yes.
  public var sendsRetryAfterHeader = true
  /// Question 26: the maximum age of a signature. Apple's documentation of it was not accessible. Assumed: ten minutes.
  public var signatureLifetime: Duration = .seconds(600)

  // MARK: Writing records

  /// Question 1: the format of a failed atomic batch. Assumed: HTTP 200, with the error of each failed record and
  /// `ATOMIC_ERROR` for the others.
  public var atomicFailure = AtomicFailure.failsEachRecord
  /// Question 4: an `update` or `replace` without a change tag. Assumed: `BAD_REQUEST`.
  public var updateWithoutTag = UpdateWithoutTag.badRequest
  /// Question 4: an `update` or `replace` of a record that does not exist. Assumed: `NOT_FOUND`.
  public var missingUpdate = MissingUpdate.notFound
  /// Question 5: a `delete` without a change tag. Assumed: treated as `forceDelete`.
  public var deletionWithoutTag = DeletionWithoutTag.isForced
  /// Question 6: a `forceDelete` of a record that does not exist. Assumed: success.
  public var missingForceDelete = MissingForceDelete.succeeds
  /// Question 7: two operations on one record. Assumed: the whole request is rejected.
  public var repeatedRecord = RepeatedRecord.refusesRequest
  /// Question 8: the error for too many operations and for a record that is too large. Assumed: `BAD_REQUEST`. The
  /// limits are in `EmulatorConfiguration`.
  public var exceededLimit = ExceededLimit.badRequest
  /// Question 24: whether records deleted by `DELETE_SELF` appear in the change feed. Assumed: yes, with one tombstone
  /// each.
  public var cascadesLeaveTombstones = true

  /// Question 27: the type of an encrypted TIMESTAMP or LOCATION in responses. Assumed: the plain type, as for strings
  /// and numbers. Writes may have either.
  public var encryptedType = EncryptedType.plain
  /// Question 28: a written TIMESTAMP with a fraction of a millisecond. Assumed: `BAD_REQUEST`, as was observed.
  public var timestampFraction = TimestampFraction.isRefused

  // MARK: Schema

  /// Question 14: a query for a record type that does not exist. Assumed: `NOT_FOUND`.
  public var unknownRecordType = Refusal.notFound
  /// Question 14: a write to a type or field that does not exist and cannot be added. Assumed: `BAD_REQUEST`.
  public var unknownField = Refusal.badRequest
  /// Question 15: whether writes in development add types and fields to the schema. Assumed: yes. In production they
  /// never do.
  public var developmentLearnsSchema = true
  /// Question 15: whether a type added by a write also has indexes on its system fields, so that queries by time or
  /// without filters work at once. The exported schemas of apps show none. The default is `true`, because the emulator
  /// has no Console in which to add them.
  public var learntTypesIndexSystemFields = true
  /// Question 15: whether an empty list adds a field to the schema. It does not show the type of its elements. Assumed:
  /// no; the record is rejected with `BAD_REQUEST`.
  public var emptyListsAddFields = false

  // MARK: Reading

  /// Question 16: the order of a query without `sortBy`. Assumed: by record name.
  public var unsortedOrder = UnsortedOrder.recordName
  /// Question 16: the order within one page of `changes/zone`; pages are always in order of the last change. Assumed:
  /// oldest first.
  public var changesOrder = ChangesOrder.lastChange
  /// Question 17: the distance in metres of a `NEAR` filter without one. Assumed: no limit.
  public var nearDistance: Double?
  /// Question 17: whether string filters ignore case. Assumed: no.
  public var comparesTextIgnoringCase = false
  /// Question 17: whether comparators that begin with `NOT_` match records without the field. Assumed: no.
  public var negationsMatchNull = false
  /// Question 12: an empty string as a sync token. Assumed: an invalid token; clients omit the key instead.
  public var emptySyncToken = EmptySyncToken.isRefused
  /// Question 13: the error for an expired or foreign sync token. Assumed: `BAD_REQUEST` for the zone, with a reason
  /// about the token.
  public var expiredSyncToken = ExpiredSyncToken.badRequest

  // MARK: Zones, users and assets

  /// Question 9: the response of `users/caller`. Assumed: both formats in one.
  public var callerEnvelope = CallerEnvelope.both
  /// Question 10: the key of the list in the response of `assets/rereference`. Assumed: `assets`.
  public var rereferenceWrapper = "assets"
  /// Question 11: creating a zone that exists. Assumed: success.
  public var existingZone = ExistingZone.succeeds
  /// Question 11: deleting a zone that does not exist. Assumed: `ZONE_NOT_FOUND`, because the framework reports an
  /// error.
  public var missingZone = MissingZone.zoneNotFound
  /// Question 11: deleting the default zone. Assumed: `BAD_REQUEST`.
  public var defaultZoneDeletion = DefaultZoneDeletion.badRequest
  /// Question 22: the number of custom zones that a private database can have. Assumed: no limit.
  public var zoneLimit: Int?
  /// Question 22: the number of elements that a list field can have. Assumed: no limit.
  public var listLimit: Int?
  /// Question 22: the number of filters that a query can have. Assumed: no limit.
  public var filterLimit: Int?

  // MARK: Subscriptions and shares

  /// Question 18: whether database subscriptions are accepted. The framework has them; Web Services do not document
  /// them. The default is `true`, because clients of the framework have no other kind for a database with many zones.
  public var acceptsDatabaseSubscriptions = true
  /// Question 18: whether the shared database accepts subscriptions. The default is `true` for the same reason.
  public var acceptsSharedSubscriptions = true
  /// Question 22: the number of subscriptions that a user can have in one database. Assumed: no limit.
  public var subscriptionLimit: Int?
  /// Question 23: whether a query subscription without `zoneWide` covers all zones. Assumed: no, as in CloudKit JS.
  public var subscriptionsAreZoneWide = false
  /// Question 19: the error for a user who is not invited to a share. Assumed: `NOT_FOUND`.
  public var uninvited = Uninvited.notFound
  /// Question 19: whether a participant leaves a share by deleting it from the shared database. Assumed: yes.
  public var participantsLeaveByDeletingShares = true

  /// Creates the default assumptions.
  public init() {}
}
