extension Schema {
  static let views = """
    -- What blocks what. A save waits for the creation of what it refers to. A delete waits for the deletes of what referred
    -- to it, and for the saves that free others from it: the server deletes with a record whatever refers to it by
    -- DELETE_SELF, and does not delete what is referred to by VALIDATE. With the unary plus, SQLite finds operations by
    -- their number or record, not among all of their kind.
    CREATE VIEW blockers(operation, blocker) AS
      SELECT o.id, b.id FROM operations o
        JOIN refs r ON r.operation = o.id AND r.isReleased = 0 AND r.blocks = 1
        JOIN operations b ON b.zone = r.zone AND b.owner = r.owner AND b.name = r.name
        WHERE +o.operation = 'save' AND +b.operation = 'save' AND b.baseTag IS NULL AND b.id <> o.id
      UNION ALL
      SELECT o.id, a.id FROM operations o
        JOIN refs r ON r.zone = o.zone AND r.owner = o.owner AND r.name = o.name AND r.blocks = 1
        JOIN operations a ON a.id = r.operation AND +a.operation = iif(r.isReleased, 'save', 'delete')
        WHERE +o.operation = 'delete' AND a.id <> o.id;

    """

  /// The condition for a conflict about which the app need not be asked, unless it has changed since.
  static let wasAsked = "(askedAbout IS NOT NULL OR conflictRounds > \(QueuedOperation.conflictRoundLimit))"

  static let indexes = """
    CREATE INDEX recordsByType ON records(zone, owner, type);
    CREATE INDEX recordsByName ON records(name);
    -- The latest changes on the server first.
    CREATE INDEX recordsByChange ON records(modifiedAt);
    -- Records that the server deleted, while the deletion is on hold.
    CREATE INDEX recordsGone ON records(zone, owner, name) WHERE epoch < 0;
    CREATE INDEX assetPlacesByRecord ON assetPlaces(zone, owner, name, field);

    -- One live operation for a record: later edits merge into it. By the name first, which filters ask for alone.
    CREATE UNIQUE INDEX operationsByRecord ON operations(name, zone, owner) WHERE name IS NOT NULL;
    CREATE INDEX operationsByState ON operations(state, id);
    CREATE INDEX operationsByAge ON operations(state, enqueuedAt);
    CREATE INDEX operationsByDue ON operations(nextAttemptAt) WHERE nextAttemptAt IS NOT NULL;
    CREATE INDEX operationsByZone ON operations(zone, id);
    CREATE INDEX operationsByType ON operations(type, id);
    CREATE INDEX operationsByKind ON operations(operation, id);
    CREATE INDEX operationsByError ON operations(errorCode, id) WHERE errorCode IS NOT NULL;
    CREATE INDEX operationsByEnqueuing ON operations(enqueuedAt);
    CREATE INDEX operationsByGroup ON operations(atomicGroup) WHERE atomicGroup IS NOT NULL;
    CREATE INDEX operationsByBlocker ON operations(waitsFor) WHERE waitsFor IS NOT NULL;
    CREATE INDEX operationsInCycle ON operations(id) WHERE waitsFor = id;
    CREATE INDEX operationsOfZones ON operations(zone, owner, operation) WHERE name IS NULL;
    CREATE INDEX operationsThrottled ON operations(nextAttemptAt) WHERE state = 'waiting' AND isServersWait = 1;
    CREATE INDEX operationsInBisection ON operations(zone, owner) WHERE bisection IS NOT NULL;
    -- Records that exist in the queue alone.
    CREATE INDEX operationsThatCreate ON operations(zone, owner, name)
      WHERE isMirrored = 0 AND operation = 'save' AND name IS NOT NULL;
    CREATE INDEX operationsToSend ON operations(zone, owner, state, id);
    -- Operations to send that have no known blocker: by part of the queue, and by the end of their wait.
    CREATE INDEX operationsFree ON operations(zone, owner, operation, type, id)
      WHERE state = 'pending' AND waitsFor IS NULL AND needsVerification = 0 AND needsUpload = 0 AND name IS NOT NULL;
    CREATE INDEX operationsDue ON operations(zone, owner, operation, type, nextAttemptAt)
      WHERE state = 'waiting' AND waitsFor IS NULL AND needsVerification = 0 AND needsUpload = 0 AND name IS NOT NULL;
    CREATE INDEX operationsToVerify ON operations(id)
      WHERE needsVerification = 1 AND \(Ledger.isOpen) AND name IS NOT NULL;
    CREATE INDEX operationsToUpload ON operations(id)
      WHERE needsUpload = 1 AND needsVerification = 0 AND \(Ledger.isOpen);
    CREATE INDEX operationsToOffer ON operations(id)
      WHERE state = 'failed' AND operation IN ('save', 'delete') AND askedAbout IS NOT CAST(generation AS TEXT);
    CREATE INDEX conflictsAsked ON operations(id) WHERE state = 'conflict' AND \(wasAsked);
    CREATE INDEX assetFilesUnused ON assetFiles(digest) WHERE uses = 0;
    CREATE INDEX refsByTarget ON refs(zone, owner, name);

    CREATE INDEX attemptsByOperation ON attempts(operation, id);
    CREATE INDEX historyByOperation ON history(operationId);
    CREATE INDEX droppedByOperation ON dropped(operationId);
    CREATE INDEX droppedByRecord ON dropped(zone, owner, name) WHERE isOpen = 1;
    CREATE INDEX eventsByKind ON events(kind, id);
    CREATE INDEX deliveriesByType ON deliveries(type, number);

    """
}
