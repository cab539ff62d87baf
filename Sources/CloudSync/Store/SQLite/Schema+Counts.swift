extension Schema {
  /// Counts that triggers maintain, so that the status of a long queue is as fast as that of an empty one, and indexes
  /// for filters.
  static let counts = """
    CREATE TABLE queueCounts(
      state TEXT NOT NULL,
      zone TEXT NOT NULL,
      owner TEXT NOT NULL,
      -- Empty for operations on zones, and for deletions of what is not known.
      type TEXT NOT NULL,
      count INTEGER NOT NULL,
      bytes INTEGER NOT NULL,
      PRIMARY KEY (state, zone, owner, type)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE recordCounts(
      zone TEXT NOT NULL,
      owner TEXT NOT NULL,
      type TEXT NOT NULL,
      -- Records of the mirror.
      mirrored INTEGER NOT NULL DEFAULT 0,
      -- Records that the queue makes, less those that it deletes.
      queued INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (zone, owner, type)
    ) STRICT, WITHOUT ROWID;

    INSERT INTO queueCounts
      SELECT state, zone, owner, coalesce(type, ''), count(*), sum(bytes) FROM operations
      GROUP BY state, zone, owner, coalesce(type, '');
    INSERT INTO recordCounts(zone, owner, type, mirrored, queued)
      SELECT zone, owner, type, sum(mirrored), sum(queued) FROM (
        SELECT zone, owner, type, 1 AS mirrored, 0 AS queued FROM records
        UNION ALL SELECT zone, owner, type, 0, \(queued("o")) FROM operations o WHERE type IS NOT NULL)
      GROUP BY zone, owner, type;

    CREATE TRIGGER countInserted AFTER INSERT ON operations BEGIN
      \(countQueue("new", "+"))
      \(countQueued("new", "+"))
    END;
    CREATE TRIGGER countDeleted AFTER DELETE ON operations BEGIN
      \(countQueue("old", "-"))
      \(countQueued("old", "-"))
    END;
    CREATE TRIGGER countMoved AFTER UPDATE OF state, type, bytes ON operations
      WHEN old.state <> new.state OR old.type IS NOT new.type OR old.bytes <> new.bytes
    BEGIN
      \(countQueue("old", "-"))
      \(countQueue("new", "+"))
    END;
    CREATE TRIGGER countTurned AFTER UPDATE OF operation, type ON operations
      WHEN old.operation <> new.operation OR old.type IS NOT new.type
    BEGIN
      \(countQueued("old", "-"))
      \(countQueued("new", "+"))
    END;

    CREATE TRIGGER countMirrored AFTER INSERT ON records BEGIN
      \(countMirrored("new", "+"))
      \(countOverlaid("new", "-1"))
    END;
    CREATE TRIGGER countForgotten AFTER DELETE ON records BEGIN
      \(countMirrored("old", "-"))
      \(countOverlaid("old", "+1"))
    END;
    CREATE TRIGGER countRetyped AFTER UPDATE OF type ON records WHEN old.type <> new.type BEGIN
      \(countMirrored("old", "-"))
      \(countMirrored("new", "+"))
    END;

    CREATE INDEX operationsByAge ON operations(state, enqueuedAt);
    CREATE INDEX operationsByDue ON operations(nextAttemptAt) WHERE nextAttemptAt IS NOT NULL;
    CREATE INDEX operationsByZone ON operations(zone, id);
    CREATE INDEX operationsByType ON operations(type, id);
    CREATE INDEX operationsByError ON operations(errorCode, id) WHERE errorCode IS NOT NULL;
    CREATE INDEX operationsByEnqueuing ON operations(enqueuedAt);
    """

  /// Adds a row of `operations` to the queue's counts, or subtracts it.
  private static func countQueue(_ row: String, _ sign: String) -> String {
    """
    INSERT INTO queueCounts
        VALUES (\(row).state, \(row).zone, \(row).owner, coalesce(\(row).type, ''), \(sign)1, \(sign)\(row).bytes)
        ON CONFLICT DO UPDATE SET count = count + excluded.count, bytes = bytes + excluded.bytes;
    """
  }

  /// The change that an operation makes to the number of records: a save adds one if the mirror has none, a delete
  /// subtracts one if the mirror has one.
  private static func queued(_ row: String) -> String {
    let isMirrored =
      "EXISTS (SELECT 1 FROM records r WHERE r.zone = \(row).zone AND r.owner = \(row).owner AND r.name = \(row).name)"
    return """
      CASE \(row).operation WHEN 'save' THEN NOT \(isMirrored) WHEN 'delete' THEN -(\(isMirrored)) ELSE 0 END
      """
  }

  static func countQueued(_ row: String, _ sign: String) -> String {
    """
    INSERT INTO recordCounts(zone, owner, type, queued)
        SELECT \(row).zone, \(row).owner, \(row).type, \(sign)(\(queued(row))) WHERE \(row).type IS NOT NULL
        ON CONFLICT DO UPDATE SET queued = queued + excluded.queued;
    """
  }

  private static func countMirrored(_ row: String, _ sign: String) -> String {
    """
    INSERT INTO recordCounts(zone, owner, type, mirrored) VALUES (\(row).zone, \(row).owner, \(row).type, \(sign)1)
        ON CONFLICT DO UPDATE SET mirrored = mirrored + excluded.mirrored;
    """
  }

  /// Adjusts the count of queued records when the mirror gains or loses a record that has an operation.
  private static func countOverlaid(_ row: String, _ change: String) -> String {
    """
    INSERT INTO recordCounts(zone, owner, type, queued)
        SELECT o.zone, o.owner, o.type, \(change) FROM operations o
          WHERE o.zone = \(row).zone AND o.owner = \(row).owner AND o.name = \(row).name
            AND o.type IS NOT NULL AND o.operation IN ('save', 'delete')
        ON CONFLICT DO UPDATE SET queued = queued + excluded.queued;
    """
  }
}
