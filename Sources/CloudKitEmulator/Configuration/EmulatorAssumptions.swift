/// How the emulator behaves where no source settles how the real service does.
///
/// The numbers are those of the register of open questions that this emulator was written from. Each default is what
/// that register assumes, save where the comment says otherwise; each other position is an answer that the real service
/// may turn out to give, so that a client can be tested against both.
public struct EmulatorAssumptions: Sendable, Hashable {
  // MARK: Requests and credentials

  /// Question 2: what is signed for a request without a body. Assumed: clients sign either, and both are accepted.
  public var emptyBodySignature = EmptyBodySignature.either
  /// Question 3: whether the lists, which are documented for GET, take POST. Assumed: yes, as on first-party hosts.
  public var listsTakePost = true
  /// Question 20: how far ahead of the server a signature's date may lie. Assumed: ten minutes.
  public var futureSkew: Duration = .seconds(600)
  /// Question 21: what a request without any credentials is answered. Assumed: 400.
  public var missingCredentials = MissingCredentials.badRequest
  /// Question 22: requests of one caller in one second before the rest are `THROTTLED`. Assumed: not limited.
  public var requestsPerSecond: Int?
  /// Question 25: whether `retryAfter` is repeated as the HTTP header `Retry-After`. Assumed: sent in both places.
  public var sendsRetryAfterHeader = true
  /// Question 26: how old a signature may be; Apple's own words on it were not to be read. Assumed: ten minutes.
  public var signatureLifetime: Duration = .seconds(600)

  // MARK: Writing records

  /// Question 1: the shape of a failed atomic batch. Assumed: HTTP 200, the culprit's code and `ATOMIC_ERROR` for the
  /// rest.
  public var atomicFailure = AtomicFailure.failsEachRecord
  /// Question 4: an `update` or `replace` without a change tag. Assumed: `BAD_REQUEST`.
  public var updateWithoutTag = UpdateWithoutTag.badRequest
  /// Question 4: an `update` or `replace` of a record that does not exist. Assumed: `NOT_FOUND`.
  public var missingUpdate = MissingUpdate.notFound
  /// Question 5: a `delete` without a change tag. Assumed: as if it were forced.
  public var deletionWithoutTag = DeletionWithoutTag.isForced
  /// Question 6: a `forceDelete` of a record that does not exist. Assumed: success.
  public var missingForceDelete = MissingForceDelete.succeeds
  /// Question 7: two operations on one record. Assumed: the whole request is refused.
  public var repeatedRecord = RepeatedRecord.refusesRequest
  /// Question 8: the code of too many operations and of a record that is too large. Assumed: `BAD_REQUEST`. The limits
  /// themselves are in `EmulatorConfiguration`.
  public var exceededLimit = ExceededLimit.badRequest
  /// Question 24: whether a record deleted by `DELETE_SELF` shows up in the change feed. Assumed: one tombstone each.
  public var cascadesLeaveTombstones = true

  // MARK: Schema

  /// Question 14: a query for a record type that does not exist. Assumed: `NOT_FOUND`.
  public var unknownRecordType = Refusal.notFound
  /// Question 14: a write to a type or field that does not exist and cannot be added. Assumed: `BAD_REQUEST`.
  public var unknownField = Refusal.badRequest
  /// Question 15: whether writes in development add types and fields to the schema. Assumed: yes. In production they
  /// never do.
  public var developmentLearnsSchema = true
  /// Question 15: whether a type that a write has added has indexes on its system fields too, so that queries without
  /// filters and by time work at once. Exported schemas of apps show none; this is on because nobody is there to add
  /// them in the Console.
  public var learntTypesIndexSystemFields = true

  // MARK: Reading

  /// Question 16: the order of a query without `sortBy`. Assumed: by record name.
  public var unsortedOrder = UnsortedOrder.recordName
  /// Question 16: the order within one page of `changes/zone`; pages always go by last change. Assumed: oldest first.
  public var changesOrder = ChangesOrder.lastChange
  /// Question 17: the distance in metres of a `NEAR` that names none. Assumed: unlimited.
  public var nearDistance: Double?
  /// Question 17: whether filters on texts take capitals and small letters for the same. Assumed: no.
  public var comparesTextIgnoringCase = false
  /// Question 17: whether comparators that begin with `NOT_` find records without the field. Assumed: no comparator
  /// does.
  public var negationsMatchNull = false
  /// Question 12: an empty text as a sync token. Assumed: it is no token; clients leave the key out.
  public var emptySyncToken = EmptySyncToken.isRefused
  /// Question 13: how an expired or foreign sync token is refused. Assumed: `BAD_REQUEST` with a reason about the
  /// token, in the zone's element.
  public var expiredSyncToken = ExpiredSyncToken.badRequest

  // MARK: Zones, users and assets

  /// Question 9: the answer of `users/caller`. Assumed: both shapes in one.
  public var callerEnvelope = CallerEnvelope.both
  /// Question 10: the key of the list that `assets/rereference` answers.
  public var rereferenceWrapper = "assets"
  /// Question 11: creating a zone that exists. Assumed: success.
  public var existingZone = ExistingZone.succeeds
  /// Question 11: deleting a zone that does not exist. Assumed: `ZONE_NOT_FOUND`.
  public var missingZone = MissingZone.zoneNotFound
  /// Question 11: deleting the default zone. Assumed: `BAD_REQUEST`.
  public var defaultZoneDeletion = DefaultZoneDeletion.badRequest
  /// Question 22: custom zones in one private database before creating more fails. Assumed: not limited.
  public var zoneLimit: Int?
  /// Question 22: elements of one list field. Assumed: not limited.
  public var listLimit: Int?
  /// Question 22: filters of one query. Assumed: not limited.
  public var filterLimit: Int?

  // MARK: Subscriptions and shares

  /// Question 18: whether subscriptions to whole databases are accepted, which the framework has and Web Services do
  /// not document. The register assumes that they are not; this is on because clients of the framework have no other
  /// kind for a database with many zones.
  public var acceptsDatabaseSubscriptions = true
  /// Question 18: whether the shared database takes subscriptions at all. As above.
  public var acceptsSharedSubscriptions = true
  /// Question 22: subscriptions of one user to one database before creating more fails. Assumed: not limited.
  public var subscriptionLimit: Int?
  /// Question 23: whether a query subscription that does not say is about all zones. Assumed: no, as in CloudKit JS.
  public var subscriptionsAreZoneWide = false
  /// Question 19: what somebody who is not invited is answered. Assumed: `NOT_FOUND`.
  public var uninvited = Uninvited.notFound
  /// Question 19: whether a participant leaves by deleting the share from the shared database. Assumed: yes.
  public var participantsLeaveByDeletingShares = true

  /// Makes the assumptions of the register.
  public init() {}
}
