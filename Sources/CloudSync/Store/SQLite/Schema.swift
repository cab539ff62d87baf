import GRDB

/// The store's tables. Constraints reject invalid states.
///
/// Times are milliseconds since 1970. Migrations go forward only; a store from a newer version is rejected on opening.
enum Schema {
  static let migrator: DatabaseMigrator = {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("1") { database in
      try database.execute(sql: meta)
      try database.execute(sql: mirror)
      try database.execute(sql: queue)
      try database.execute(sql: driving)
    }
    migrator.registerMigration("2") { database in
      try database.execute(
        sql: "CREATE INDEX operationsOfZones ON operations(zone, owner, operation) WHERE name IS NULL"
      )
    }
    migrator.registerMigration("3 assets") { try $0.execute(sql: assets) }
    migrator.registerMigration("4 merging") { database in
      try database.execute(sql: merging)
    }
    migrator.registerMigration("5 delivery") { try $0.execute(sql: delivery) }
    migrator.registerMigration("6 keeping") { try $0.execute(sql: keeping) }
    migrator.registerMigration("7 sending") { try $0.execute(sql: sending) }
    migrator.registerMigration("8 counts") { try $0.execute(sql: counts) }
    migrator.registerMigration("9 texts") { try $0.execute(sql: texts) }
    migrator.registerMigration("10 holding") { try $0.execute(sql: holding) }
    migrator.registerMigration("11 deletions") { database in
      try database.execute(sql: "CREATE INDEX historyOfDeletions ON history(name) WHERE operation = 'delete'")
    }
    migrator.registerMigration("12 releasing") { try $0.execute(sql: releasing) }
    migrator.registerMigration("13 offering") { try $0.execute(sql: offering) }
    migrator.registerMigration("14 renaming") { try $0.execute(sql: renaming) }
    migrator.registerMigration("15 undoing") { try $0.execute(sql: undoing) }
    migrator.registerMigration("16 pausing") { database in
      try database.execute(sql: pausing)
      try liftPausesOfRows(database)
    }
    migrator.registerMigration("17 referring") { try $0.execute(sql: referring) }
    migrator.registerMigration("18 unreadable types") { try $0.execute(sql: unreadable) }
    migrator.registerMigration("19 deciding") { try $0.execute(sql: deciding) }
    migrator.registerMigration("20 reporting") { try $0.execute(sql: reporting) }
    migrator.registerMigration("21 bounds") { try $0.execute(sql: bounds) }
    migrator.registerMigration("22 clearing") { try $0.execute(sql: clearing) }
    migrator.registerMigration("23 places") { try $0.execute(sql: places) }
    migrator.registerMigration("24 lists") { try $0.execute(sql: lists) }
    migrator.registerMigration("25 conflicts") { try $0.execute(sql: "ALTER TABLE dropped ADD COLUMN conflict TEXT") }
    // The records that the unfinished fetch of a zone has read.
    migrator.registerMigration("26 progress") {
      try $0.execute(sql: "ALTER TABLE zones ADD COLUMN fetched INTEGER NOT NULL DEFAULT 0")
    }
    // Who created a record, and its share: system values that models can have.
    migrator.registerMigration("27 system values") {
      try $0.execute(sql: "ALTER TABLE records ADD COLUMN createdBy TEXT; ALTER TABLE records ADD COLUMN share TEXT")
    }
    migrator.registerMigration("28 offering deletions") { try $0.execute(sql: offeringDeletions) }
    migrator.registerMigration("29 dropped sides") { try $0.execute(sql: droppedSides) }
    migrator.registerMigration("30 records by name") {
      try $0.execute(sql: "CREATE INDEX recordsByName ON records(name)")
    }
    migrator.registerMigration("31 tombstones") { try $0.execute(sql: tombstones) }
    return migrator
  }()

  private static let pausing = """
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
    """

  /// Undoes the pause of each row in a paused store: earlier versions paused rows, not by a rule.
  private static func liftPausesOfRows(_ database: Database) throws {
    let isPaused = try Bool.fetchOne(database, sql: "SELECT EXISTS (SELECT 1 FROM meta WHERE key = 'paused')") ?? false
    guard isPaused else { return }
    // The server's wait was stored as "PAUSED-AT END" under the operation's number.
    try database.execute(
      sql: """
        UPDATE operations SET state = 'waiting', isServersWait = 1, reason = 'throttled by the server',
            nextAttemptAt = CAST(substr(meta.value, instr(meta.value, ' ') + 1) AS INTEGER)
          FROM meta WHERE meta.key = 'wait ' || operations.id AND operations.state = 'paused'
            AND instr(meta.value, ' ') > 0;
        UPDATE operations SET state = 'pending', reason = 'ready to send' WHERE state = 'paused';
        DELETE FROM meta WHERE key LIKE 'wait %';
        """
    )
  }

  private static let referring = """
    -- Whether the other record has to be there first on save, and gone last on delete. Of queued rows none blocks that has
    -- neither a parent nor a VALIDATE reference; the others keep what they had until they are written again.
    ALTER TABLE refs ADD COLUMN blocks INTEGER NOT NULL DEFAULT 1;
    UPDATE refs SET blocks = 0 WHERE isReleased = 0 AND operation IN
      (SELECT id FROM operations WHERE instr(changes || base, 'VALIDATE') = 0 AND instr(changes || base, '\(FieldChanges.parent)') = 0);
    CREATE INDEX refsThatBlock ON refs(operation) WHERE blocks = 1;

    DROP VIEW blockers;
    CREATE VIEW blockers(operation, blocker) AS
      SELECT o.id, b.id FROM operations o
        JOIN refs r ON r.operation = o.id AND r.isReleased = 0 AND r.blocks = 1
        JOIN operations b ON b.zone = r.zone AND b.owner = r.owner AND b.name = r.name
        WHERE o.operation = 'save' AND b.operation = 'save' AND b.baseTag IS NULL AND b.id <> o.id
      UNION ALL
      SELECT o.id, a.id FROM operations o
        JOIN refs r ON r.zone = o.zone AND r.owner = o.owner AND r.name = o.name AND r.blocks = 1
        JOIN operations a ON a.id = r.operation AND a.operation = iif(r.isReleased, 'save', 'delete')
        WHERE o.operation = 'delete' AND a.id <> o.id;
    """

  private static let keeping = """
    -- Rows that could not be read, as JSON of their columns.
    CREATE TABLE quarantine(
      id INTEGER PRIMARY KEY,
      at INTEGER NOT NULL,
      source TEXT NOT NULL,
      reason TEXT NOT NULL,
      content TEXT NOT NULL
    ) STRICT;
    """

  /// Zones and types that the server does not let us read.
  private static let unreadable = """
    -- The type is empty for a whole zone.
    CREATE TABLE unreadable(
      zone TEXT NOT NULL,
      owner TEXT NOT NULL DEFAULT '',
      type TEXT NOT NULL,
      message TEXT NOT NULL,
      since INTEGER NOT NULL,
      PRIMARY KEY (zone, owner, type)
    ) STRICT, WITHOUT ROWID;
    """

  /// Data for undoing deletions and dropped changes.
  private static let undoing = """
    CREATE INDEX historyOfZoneDeletions ON history(zone) WHERE operation = 'zoneDelete';
    -- On what the fields were changed that do not stand for themselves, such as counters.
    ALTER TABLE dropped ADD COLUMN base TEXT;
    """

  /// Data for merging.
  private static let merging = """
    ALTER TABLE operations ADD COLUMN isUnanswered INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE operations ADD COLUMN lostRounds INTEGER NOT NULL DEFAULT 0;
    -- The generation and the server's tag that the app was asked about without settling the conflict.
    ALTER TABLE operations ADD COLUMN askedAbout TEXT;
    -- The tags before this one, latest first, each with a space behind it.
    ALTER TABLE records ADD COLUMN formerTags TEXT NOT NULL DEFAULT '';

    -- What a policy or a person dropped of accepted changes. Open until the record is edited again.
    CREATE TABLE dropped(
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      operationId INTEGER NOT NULL,
      operation TEXT NOT NULL CHECK (operation IN ('save', 'delete')),
      zone TEXT NOT NULL,
      owner TEXT NOT NULL,
      name TEXT NOT NULL,
      type TEXT,
      changes TEXT NOT NULL,
      assets TEXT,
      reason TEXT NOT NULL,
      at INTEGER NOT NULL,
      isOpen INTEGER NOT NULL DEFAULT 1
    ) STRICT;
    CREATE INDEX droppedByOperation ON dropped(operationId);
    CREATE INDEX droppedByRecord ON dropped(zone, owner, name) WHERE isOpen = 1;
    """

  private static let meta = """
    CREATE TABLE meta(
      key TEXT PRIMARY KEY NOT NULL,
      value TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    """

  private static let sending = """
    -- Operations of one number were in a request that was refused whole for one of them; below zero it was a look-up.
    ALTER TABLE operations ADD COLUMN suspicion INTEGER;
    -- The number of the last request that went to the zone.
    ALTER TABLE zones ADD COLUMN served INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX operationsToSend ON operations(zone, owner, state, id);
    CREATE INDEX operationsToReadBack ON operations(needsReadBack, id) WHERE needsReadBack = 1;
    CREATE INDEX operationsToUpload ON operations(needsUpload, id) WHERE needsUpload = 1;
    CREATE INDEX operationsUnderSuspicion ON operations(zone, owner) WHERE suspicion IS NOT NULL;
    """

  private static let holding = """
    -- Since when deletions on the server have been held back.
    ALTER TABLE zones ADD COLUMN heldSince INTEGER;
    -- Records that the server deleted, while that has not come true here.
    CREATE INDEX recordsGone ON records(zone, owner, name) WHERE epoch < 0;
    -- Of one operation several requests may be on their way, or lost.
    UPDATE operations SET sentChanges = json_array(json(sentChanges)) WHERE json_valid(sentChanges);
    """

  private static let releasing = """
    -- Not what the record will refer to, but what it refers to until the save has let go of it.
    ALTER TABLE refs ADD COLUMN isReleased INTEGER NOT NULL DEFAULT 0;

    -- A delete also waits for the saves that free others from what is to be deleted: the server deletes with a record
    -- whatever refers to it by DELETE_SELF, and does not delete what is referred to by VALIDATE.
    DROP VIEW blockers;
    CREATE VIEW blockers(operation, blocker) AS
      SELECT o.id, b.id FROM operations o
        JOIN refs r ON r.operation = o.id AND r.isReleased = 0
        JOIN operations b ON b.zone = r.zone AND b.owner = r.owner AND b.name = r.name
        WHERE o.operation = 'save' AND b.operation = 'save' AND b.baseTag IS NULL AND b.id <> o.id
      UNION ALL
      SELECT o.id, a.id FROM operations o
        JOIN refs r ON r.zone = o.zone AND r.owner = o.owner AND r.name = o.name
        JOIN operations a ON a.id = r.operation AND a.operation = iif(r.isReleased, 'save', 'delete')
        WHERE o.operation = 'delete' AND a.id <> o.id;
    """

  private static let offering = """
    -- Which dead letters the app was offered used to be one value for all of them.
    DELETE FROM meta WHERE key = 'offered';
    CREATE INDEX operationsToOffer ON operations(id)
      WHERE state = 'failed' AND operation = 'save' AND askedAbout IS NOT CAST(generation AS TEXT);
    """

  private static let offeringDeletions = """
    -- Only saves used to be offered.
    DROP INDEX operationsToOffer;
    CREATE INDEX operationsToOffer ON operations(id)
      WHERE state = 'failed' AND operation IN ('save', 'delete') AND askedAbout IS NOT CAST(generation AS TEXT);
    """

  private static let assets = """
    ALTER TABLE operations ADD COLUMN assets TEXT;
    ALTER TABLE operations ADD COLUMN needsUpload INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX operationsWithAssets ON operations(needsUpload, id) WHERE assets IS NOT NULL;

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
    """

  /// The server's records, and the progress of each change feed.
  private static let mirror = """
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
      -- Raised by each reading from the beginning; what such a reading did not see is gone on the server.
      epoch INTEGER NOT NULL DEFAULT 0,
      readingAll INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (zone, owner)
    ) STRICT, WITHOUT ROWID;

    -- Feeds by modification time, one for a zone and record type, where there is no change feed.
    CREATE TABLE pulls(
      zone TEXT NOT NULL,
      owner TEXT NOT NULL DEFAULT '',
      type TEXT NOT NULL,
      watermark INTEGER,
      lastFetchAt INTEGER,
      sweptAt INTEGER,
      PRIMARY KEY (zone, owner, type)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE records(
      zone TEXT NOT NULL,
      owner TEXT NOT NULL DEFAULT '',
      name TEXT NOT NULL,
      type TEXT NOT NULL,
      changeTag TEXT NOT NULL,
      fields TEXT NOT NULL,
      createdAt INTEGER,
      modifiedAt INTEGER,
      modifiedBy TEXT,
      epoch INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (zone, owner, name)
    ) STRICT;
    CREATE INDEX recordsByType ON records(zone, owner, type);
    """

  /// Accepted changes, their attempts, and their endings.
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
      sentChanges TEXT,
      isRecreation INTEGER NOT NULL DEFAULT 0,
      needsReadBack INTEGER NOT NULL DEFAULT 0,
      conflictRounds INTEGER NOT NULL DEFAULT 0,
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
      CHECK ((name IS NULL) = (operation IN ('zoneSave', 'zoneDelete'))),
      CHECK ((state = 'inFlight') = (sentGeneration IS NOT NULL)),
      CHECK ((state = 'inFlight') = (sentOperation IS NOT NULL)),
      CHECK ((state = 'waiting') = (nextAttemptAt IS NOT NULL)),
      CHECK ((state = 'conflict') = (conflictAt IS NOT NULL))
    ) STRICT;
    -- One live operation for a record: later edits merge into it.
    CREATE UNIQUE INDEX operationsByRecord ON operations(zone, owner, name) WHERE name IS NOT NULL;
    CREATE INDEX operationsByState ON operations(state, id);
    CREATE INDEX operationsByGroup ON operations(atomicGroup) WHERE atomicGroup IS NOT NULL;

    -- Which records an operation refers to, so that the referenced go first on save and last on delete.
    CREATE TABLE refs(
      operation INTEGER NOT NULL REFERENCES operations(id) ON DELETE CASCADE,
      zone TEXT NOT NULL,
      owner TEXT NOT NULL,
      name TEXT NOT NULL,
      PRIMARY KEY (operation, zone, owner, name)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX refsByTarget ON refs(zone, owner, name);

    -- What stands before what. A save waits for the creation of what it refers to; a delete waits for the deletes of
    -- what referred to it. A target that the server holds already is nothing to wait for.
    CREATE VIEW blockers(operation, blocker) AS
      SELECT o.id, b.id FROM operations o
        JOIN refs r ON r.operation = o.id
        JOIN operations b ON b.zone = r.zone AND b.owner = r.owner AND b.name = r.name
        WHERE o.operation = 'save' AND b.operation = 'save' AND b.baseTag IS NULL AND b.id <> o.id
      UNION ALL
      SELECT o.id, a.id FROM operations o
        JOIN refs r ON r.zone = o.zone AND r.owner = o.owner AND r.name = o.name
        JOIN operations a ON a.id = r.operation
        WHERE o.operation = 'delete' AND a.operation = 'delete' AND a.id <> o.id;

    CREATE TABLE attempts(
      id INTEGER PRIMARY KEY,
      operation INTEGER NOT NULL,
      number INTEGER NOT NULL,
      at INTEGER NOT NULL,
      seconds REAL NOT NULL,
      code TEXT,
      message TEXT,
      response TEXT
    ) STRICT;
    CREATE INDEX attemptsByOperation ON attempts(operation, id);

    CREATE TABLE history(
      id INTEGER PRIMARY KEY,
      operationId INTEGER NOT NULL,
      operation TEXT NOT NULL,
      zone TEXT NOT NULL,
      owner TEXT NOT NULL,
      name TEXT,
      type TEXT,
      ending TEXT NOT NULL CHECK (ending IN ('acknowledged', 'superseded', 'merged', 'discarded')),
      detail TEXT NOT NULL,
      enqueuedAt INTEGER NOT NULL,
      endedAt INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX historyByOperation ON history(operationId);
    """

  /// The lease, the engine's activity, its waits, and requests of operators.
  private static let driving = """
    CREATE TABLE lease(
      one INTEGER PRIMARY KEY CHECK (one = 1),
      fence INTEGER NOT NULL,
      pid INTEGER NOT NULL,
      host TEXT NOT NULL,
      -- Null while the driver sleeps: the kernel's lock alone says that it lives.
      expiresAt INTEGER
    ) STRICT;

    CREATE TABLE activity(
      one INTEGER PRIMARY KEY CHECK (one = 1),
      state TEXT NOT NULL DEFAULT 'idle',
      reason TEXT NOT NULL DEFAULT '',
      phase TEXT,
      done INTEGER NOT NULL DEFAULT 0,
      total INTEGER NOT NULL DEFAULT 0,
      perSecond REAL,
      nextActionAt INTEGER,
      nextAction TEXT,
      lastSuccessAt INTEGER,
      lastEnqueueAt INTEGER,
      errorCode TEXT,
      errorMessage TEXT,
      errorAt INTEGER,
      errorStands INTEGER NOT NULL DEFAULT 0,
      -- The last pass read every feed to its end after the last change that had been accepted by then.
      reachedEnd INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    INSERT INTO activity(one) VALUES (1);

    CREATE TABLE throttles(
      scope TEXT PRIMARY KEY NOT NULL,
      until INTEGER NOT NULL,
      seconds REAL NOT NULL,
      code TEXT NOT NULL,
      message TEXT NOT NULL,
      isOwn INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE passes(
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      requestedAt INTEGER NOT NULL,
      types TEXT NOT NULL,
      startedAt INTEGER,
      finishedAt INTEGER,
      summary TEXT
    ) STRICT;

    -- Every operator command, with how many rows it changed.
    CREATE TABLE commands(
      id INTEGER PRIMARY KEY,
      at INTEGER NOT NULL,
      actor TEXT NOT NULL,
      verb TEXT NOT NULL,
      selection TEXT NOT NULL,
      count INTEGER NOT NULL
    ) STRICT;

    CREATE TABLE events(
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      at INTEGER NOT NULL,
      kind TEXT NOT NULL,
      message TEXT NOT NULL
    ) STRICT;
    """
}
