extension Schema {
  /// Facts that screens show: who did what, since when, and how much was sent and fetched.
  static let reporting = """
    CREATE INDEX operationsThrottled ON operations(nextAttemptAt) WHERE state = 'waiting' AND isServersWait = 1;

    -- Which zone and operation an event is about, and who caused it.
    ALTER TABLE events ADD COLUMN zone TEXT;
    ALTER TABLE events ADD COLUMN operation INTEGER;
    ALTER TABLE events ADD COLUMN actor TEXT;
    CREATE INDEX eventsByKind ON events(kind, id);

    -- The program that enqueued an operation, and its process.
    ALTER TABLE operations ADD COLUMN program TEXT;
    ALTER TABLE operations ADD COLUMN pid INTEGER;
    ALTER TABLE history ADD COLUMN program TEXT;
    ALTER TABLE history ADD COLUMN pid INTEGER;

    -- The program that syncs, and since when.
    ALTER TABLE lease ADD COLUMN program TEXT;
    ALTER TABLE lease ADD COLUMN since INTEGER;

    -- When the trouble of a scope began, and whether another request has got through since: a scope that refuses again
    -- still waits longer.
    ALTER TABLE throttles ADD COLUMN since INTEGER;
    ALTER TABLE throttles ADD COLUMN isOver INTEGER NOT NULL DEFAULT 0;

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
}
