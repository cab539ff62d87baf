extension Schema {
  static let tables = server + queue + ended + engine + verdicts + app

  /// The server's records, and the progress of each change feed.
  private static let server = """
    CREATE TABLE zones(
      zone TEXT NOT NULL,
      owner TEXT NOT NULL DEFAULT '',
      -- unconfirmed: named here, not yet seen on the server; deleted: the server deleted it.
      state TEXT NOT NULL CHECK (state IN ('unconfirmed', 'ready', 'deleted')),
      createdHere INTEGER NOT NULL DEFAULT 0,
      needsFetch INTEGER NOT NULL DEFAULT 0,
      token TEXT,
      tokenAt INTEGER,
      lastFetchAt INTEGER,
      -- Raised by each fetch from the beginning; the server has deleted what such a fetch did not see.
      epoch INTEGER NOT NULL DEFAULT 0,
      fetchingAll INTEGER NOT NULL DEFAULT 0,
      -- The records that the unfinished fetch has read.
      fetched INTEGER NOT NULL DEFAULT 0,
      -- The number of the last request that went to the zone.
      served INTEGER NOT NULL DEFAULT 0,
      -- Since when deletions on the server have been on hold.
      heldSince INTEGER,
      -- Raised whenever what the zone has on hold changes, so that its version is read without counting.
      heldNumber INTEGER NOT NULL DEFAULT 0,
      -- The deletions that were applied in the current hour: since when, of how many records, and how many.
      lossesSince INTEGER,
      lossesOf INTEGER,
      losses INTEGER,
      PRIMARY KEY (zone, owner)
    ) STRICT, WITHOUT ROWID;

    -- Work on many rows that decisions caused and that is not done, in its order, as JSON.
    CREATE TABLE chores(
      id INTEGER PRIMARY KEY,
      chore TEXT NOT NULL,
      -- The place up to which it is done.
      place TEXT NOT NULL
    ) STRICT;

    -- Polled queries by modification time, one for a zone and record type, where there is no change feed.
    CREATE TABLE polledQueries(
      zone TEXT NOT NULL,
      owner TEXT NOT NULL DEFAULT '',
      type TEXT NOT NULL,
      watermark INTEGER,
      lastFetchAt INTEGER,
      scannedAt INTEGER,
      PRIMARY KEY (zone, owner, type)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE records(
      zone TEXT NOT NULL,
      owner TEXT NOT NULL DEFAULT '',
      name TEXT NOT NULL,
      type TEXT NOT NULL,
      changeTag TEXT NOT NULL,
      -- The tags before this one, latest first, each with a space behind it.
      formerTags TEXT NOT NULL DEFAULT '',
      fields TEXT NOT NULL,
      createdAt INTEGER,
      createdBy TEXT,
      modifiedAt INTEGER,
      modifiedBy TEXT,
      share TEXT,
      -- Below zero: the server deleted the record, and the deletion is on hold.
      epoch INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (zone, owner, name)
    ) STRICT;

    -- Zones and types that the server does not let us read. The type is empty for a whole zone.
    CREATE TABLE unreadable(
      zone TEXT NOT NULL,
      owner TEXT NOT NULL DEFAULT '',
      type TEXT NOT NULL,
      message TEXT NOT NULL,
      since INTEGER NOT NULL,
      PRIMARY KEY (zone, owner, type)
    ) STRICT, WITHOUT ROWID;

    -- Where in a zone bytes are that were uploaded from here, by their SHA-256.
    CREATE TABLE assetPlaces(
      zone TEXT NOT NULL,
      owner TEXT NOT NULL DEFAULT '',
      digest TEXT NOT NULL,
      name TEXT NOT NULL,
      field TEXT NOT NULL,
      checksum TEXT NOT NULL,
      PRIMARY KEY (zone, owner, digest)
    ) STRICT, WITHOUT ROWID;

    -- The encrypted fields of record types. A row outlives the last value of its field.
    CREATE TABLE encryptedFields(
      type TEXT NOT NULL,
      field TEXT NOT NULL,
      wireType TEXT NOT NULL,
      -- The last operation that set the field to an encrypted value; null if a record of the server has had one.
      operation INTEGER,
      PRIMARY KEY (type, field)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE recordCounts(
      zone TEXT NOT NULL,
      owner TEXT NOT NULL,
      type TEXT NOT NULL,
      -- Records of the mirror.
      mirrored INTEGER NOT NULL DEFAULT 0,
      -- Records that the queue creates, less those that it deletes.
      queued INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (zone, owner, type)
    ) STRICT, WITHOUT ROWID;

    """

  /// Accepted changes, and what holds them back.
  private static let queue = """
    CREATE TABLE operations(
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      operation TEXT NOT NULL CHECK (operation IN ('save', 'delete', 'zoneSave', 'zoneDelete')),
      zone TEXT NOT NULL,
      owner TEXT NOT NULL DEFAULT '',
      name TEXT,
      type TEXT,
      changes TEXT NOT NULL,
      base TEXT NOT NULL,
      baseTag TEXT,
      state TEXT NOT NULL CHECK (state IN ('pending', 'inFlight', 'waiting', 'failed', 'paused', 'conflict')),
      reason TEXT NOT NULL,
      generation INTEGER NOT NULL DEFAULT 1,
      sentGeneration INTEGER,
      sentOperation TEXT,
      -- A list: several requests of one operation may be on their way, or lost.
      sentChanges TEXT,
      isRecreation INTEGER NOT NULL DEFAULT 0,
      isUnconfirmed INTEGER NOT NULL DEFAULT 0,
      needsVerification INTEGER NOT NULL DEFAULT 0,
      conflictRounds INTEGER NOT NULL DEFAULT 0,
      lostRounds INTEGER NOT NULL DEFAULT 0,
      attempts INTEGER NOT NULL DEFAULT 0,
      maxAttempts INTEGER NOT NULL DEFAULT 8,
      nextAttemptAt INTEGER,
      isServersWait INTEGER NOT NULL DEFAULT 0,
      errorCode TEXT,
      errorMessage TEXT,
      enqueuedAt INTEGER NOT NULL,
      editedAt INTEGER NOT NULL,
      conflictAt INTEGER,
      bytes INTEGER NOT NULL,
      atomicGroup TEXT,
      assets TEXT,
      needsUpload INTEGER NOT NULL DEFAULT 0,
      -- The generation and the server's tag that the app was asked about without resolving the conflict.
      askedAbout TEXT,
      -- Operations of one number were in a request that was rejected whole for one of them; below zero: a re-fetch.
      bisection INTEGER,
      -- The program that enqueued it, and its process.
      program TEXT,
      pid INTEGER,
      -- One of the operations that block this one, or itself: it closes a reference cycle. Planning skips operations that
      -- have one. Null: no blocker is known yet.
      waitsFor INTEGER,
      -- Whether the mirror has the record.
      isMirrored INTEGER NOT NULL DEFAULT 0,
      CHECK ((name IS NULL) = (operation IN ('zoneSave', 'zoneDelete'))),
      CHECK ((state = 'inFlight') = (sentGeneration IS NOT NULL)),
      CHECK ((state = 'inFlight') = (sentOperation IS NOT NULL)),
      CHECK ((state = 'waiting') = (nextAttemptAt IS NOT NULL)),
      CHECK ((state = 'conflict') = (conflictAt IS NOT NULL))
    ) STRICT;

    -- The records that an operation refers to, so that the referenced go first on save and last on delete.
    CREATE TABLE refs(
      operation INTEGER NOT NULL REFERENCES operations(id) ON DELETE CASCADE,
      zone TEXT NOT NULL,
      owner TEXT NOT NULL,
      name TEXT NOT NULL,
      -- The record refers to it until the save clears the reference.
      isReleased INTEGER NOT NULL DEFAULT 0,
      -- Whether the other record has to be there first on save, and gone last on delete.
      blocks INTEGER NOT NULL DEFAULT 1,
      PRIMARY KEY (operation, zone, owner, name)
    ) STRICT, WITHOUT ROWID;

    -- Operations that may no longer block: the notes that name them must be renewed, in order.
    CREATE TABLE endedBlockers(
      blocker INTEGER PRIMARY KEY,
      -- Notes of operations up to this one have been renewed.
      done INTEGER NOT NULL DEFAULT 0
    ) STRICT;

    -- The copied files by their SHA-256, and how many operations, and dropped changes that can be undone, need each. The
    -- row of one that none needs goes with the file.
    CREATE TABLE assetFiles(
      digest TEXT PRIMARY KEY,
      uses INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    -- Rules that hold back what is sent to a zone, or of a record type, until they are lifted.
    CREATE TABLE pauses(
      zone TEXT NOT NULL DEFAULT '',
      owner TEXT NOT NULL DEFAULT '',
      type TEXT NOT NULL DEFAULT '',
      at INTEGER NOT NULL,
      actor TEXT NOT NULL,
      PRIMARY KEY (zone, owner, type),
      CHECK ((zone = '') <> (type = ''))
    ) STRICT, WITHOUT ROWID;

    -- The rest of a server's wait is kept during the pause of its operation.
    CREATE TABLE pausedWaits(
      operation INTEGER PRIMARY KEY REFERENCES operations(id) ON DELETE CASCADE,
      pausedAt INTEGER NOT NULL,
      until INTEGER NOT NULL
    ) STRICT;

    CREATE TABLE queueCounts(
      state TEXT NOT NULL,
      zone TEXT NOT NULL,
      owner TEXT NOT NULL,
      -- Empty for operations on zones, and for deletions of what is not known.
      type TEXT NOT NULL,
      operation TEXT NOT NULL,
      count INTEGER NOT NULL,
      bytes INTEGER NOT NULL,
      PRIMARY KEY (state, zone, owner, type, operation)
    ) STRICT, WITHOUT ROWID;

    """
}
