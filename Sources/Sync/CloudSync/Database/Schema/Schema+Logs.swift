extension Schema {
  /// Attempts of operations, their endings, and what was dropped of them.
  static let ended = """
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
      endedAt INTEGER NOT NULL,
      program TEXT,
      pid INTEGER
    ) STRICT;

    -- Acknowledged deletions, which are kept longer than their endings. The name is empty for a zone. A later deletion has
    -- a higher number.
    CREATE TABLE tombstones(
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      zone TEXT NOT NULL,
      owner TEXT NOT NULL,
      name TEXT NOT NULL,
      at INTEGER NOT NULL,
      UNIQUE (zone, owner, name)
    ) STRICT;

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
      -- The base of fields with a merge rule.
      base TEXT,
      assets TEXT,
      -- The server's values that a decision overwrote, with those that took their place.
      overwritten TEXT,
      -- Of a discard: what its operation had besides the columns here, by their names.
      former TEXT,
      reason TEXT NOT NULL,
      conflict TEXT,
      at INTEGER NOT NULL,
      -- The time of the edit that an undo brings back.
      editedAt INTEGER NOT NULL DEFAULT 0,
      isOpen INTEGER NOT NULL DEFAULT 1,
      -- A policy or the app dropped a local change, so that a person has to see it.
      isAutomatic INTEGER NOT NULL DEFAULT 0
    ) STRICT;

    CREATE TABLE droppedTotals(
      one INTEGER PRIMARY KEY CHECK (one = 1),
      -- Operations with a dropped change that can be undone.
      undoable INTEGER NOT NULL,
      -- Operations with a change that no person has seen.
      unseen INTEGER NOT NULL,
      -- A person has seen the changes up to this one.
      seenThrough INTEGER NOT NULL
    ) STRICT;

    -- Rows that could not be read, as JSON of their columns.
    CREATE TABLE quarantine(
      id INTEGER PRIMARY KEY,
      at INTEGER NOT NULL,
      source TEXT NOT NULL,
      reason TEXT NOT NULL,
      content TEXT NOT NULL
    ) STRICT;

    """

  /// The lease, the engine's activity, its waits, requests of operators, and the log.
  static let engine = """
    -- The process that holds, or last held, the lease: the one with the highest fencing token. One before it is kept while
    -- it lives: a process that was stopped still has the lock.
    CREATE TABLE lease(
      fencingToken INTEGER PRIMARY KEY,
      pid INTEGER NOT NULL,
      host TEXT NOT NULL,
      -- Null while the engine sleeps: the kernel's lock alone shows that it is alive.
      expiresAt INTEGER,
      -- The program that syncs, and since when.
      program TEXT,
      since INTEGER,
      clockOffset INTEGER,
      -- The idle state: how many there were, when it ends without an event, when it began, and the time between two polls.
      restNumber INTEGER NOT NULL DEFAULT 0,
      wakesAt INTEGER,
      restedAt INTEGER,
      pollInterval INTEGER
    ) STRICT;

    -- Single values. `StateColumn` describes them.
    CREATE TABLE state(
      one INTEGER PRIMARY KEY CHECK (one = 1),
      -- First what triggers read and write for each record.
      deliveriesAskedAt INTEGER,
      deliveryCount INTEGER NOT NULL DEFAULT 0,
      deliveriesLapsed INTEGER NOT NULL DEFAULT 0,
      turn INTEGER NOT NULL DEFAULT 0,
      clock INTEGER,
      retainedAt INTEGER,
      operationLimit INTEGER,
      appFencingToken INTEGER,
      isFetching INTEGER NOT NULL DEFAULT 0,
      silentSince INTEGER,
      isRefused INTEGER NOT NULL DEFAULT 0,
      pausedAt INTEGER,
      pausedBy TEXT,
      container TEXT,
      environment TEXT,
      database TEXT,
      identity TEXT,
      queuedBy TEXT,
      signIn TEXT,
      joinedTo TEXT,
      databaseToken TEXT,
      signInURL TEXT,
      settings TEXT,
      deliveryTrouble TEXT
    ) STRICT;

    CREATE TABLE activity(
      one INTEGER PRIMARY KEY CHECK (one = 1),
      state TEXT NOT NULL DEFAULT 'idle',
      phase TEXT,
      done INTEGER NOT NULL DEFAULT 0,
      total INTEGER NOT NULL DEFAULT 0,
      perSecond REAL,
      lastSuccessAt INTEGER,
      lastEnqueueAt INTEGER,
      errorCode TEXT,
      errorMessage TEXT,
      errorAt INTEGER,
      errorStands INTEGER NOT NULL DEFAULT 0,
      -- The last sync read every feed to its end after the last change that had been accepted by then.
      reachedEnd INTEGER NOT NULL DEFAULT 0
    ) STRICT;

    CREATE TABLE throttles(
      scope TEXT PRIMARY KEY NOT NULL,
      until INTEGER NOT NULL,
      seconds REAL NOT NULL,
      code TEXT NOT NULL,
      message TEXT NOT NULL,
      isOwn INTEGER NOT NULL,
      -- When the trouble began, and whether another request has succeeded since: a scope that rejects again still waits
      -- longer.
      since INTEGER NOT NULL,
      isOver INTEGER NOT NULL DEFAULT 0,
      -- The digest of the credential that was refused, for a wait of the account.
      credential TEXT
    ) STRICT, WITHOUT ROWID;

    -- Syncs that other processes asked for.
    CREATE TABLE syncRequests(
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      requestedAt INTEGER NOT NULL,
      types TEXT NOT NULL,
      -- Whether to release what waits for the app.
      isWithoutApp INTEGER NOT NULL DEFAULT 0,
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

    -- The log, with the zone and the operation that an event is about, and who caused it.
    CREATE TABLE events(
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      at INTEGER NOT NULL,
      kind TEXT NOT NULL,
      message TEXT NOT NULL,
      zone TEXT,
      operation INTEGER,
      actor TEXT
    ) STRICT;

    -- What a minute brought, for a day.
    CREATE TABLE throughput(
      -- Minutes since 1970.
      minute INTEGER PRIMARY KEY,
      sent INTEGER NOT NULL,
      fetched INTEGER NOT NULL,
      failed INTEGER NOT NULL,
      bytes INTEGER NOT NULL
    ) STRICT;

    """

  /// Changes to deliver to the app.
  static let app = """
    CREATE TABLE deliveries(
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      zone TEXT NOT NULL,
      owner TEXT NOT NULL,
      name TEXT NOT NULL,
      type TEXT NOT NULL,
      -- The last fields of a record that the mirror no longer has.
      fields TEXT,
      UNIQUE (zone, owner, name)
    ) STRICT;

    """
}
