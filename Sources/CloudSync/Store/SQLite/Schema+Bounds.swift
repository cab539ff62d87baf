extension Schema {
  /// Columns, counts and indexes that keep each step of planning and each list as cheap in a long queue as in a short one.
  static let bounds = """
    -- One of the operations that block this one. Planning skips operations that have one. Null: no blocker is known yet.
    ALTER TABLE operations ADD COLUMN waitsFor INTEGER;
    -- Whether the mirror has the record.
    ALTER TABLE operations ADD COLUMN isMirrored INTEGER NOT NULL DEFAULT 0;

    -- Operations that may no longer block: the notes that name them must be renewed, in order.
    CREATE TABLE formerBlockers(
      blocker INTEGER PRIMARY KEY,
      -- Notes of operations up to this one have been renewed.
      done INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    -- Operations whose note may have closed a cycle.
    CREATE TABLE cycleChecks(
      operation INTEGER PRIMARY KEY REFERENCES operations(id) ON DELETE CASCADE,
      -- How far the notes have been followed, and to where.
      steps INTEGER NOT NULL DEFAULT 0,
      position INTEGER,
      isCycle INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE INDEX cyclesToCheck ON cycleChecks(isCycle, operation);

    -- With the unary plus, SQLite finds operations by their number or record, not among all of their kind.
    DROP VIEW blockers;
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

    UPDATE operations SET isMirrored = 1 WHERE name IS NOT NULL AND EXISTS
      (SELECT 1 FROM records r WHERE r.zone = operations.zone AND r.owner = operations.owner AND r.name = operations.name);
    UPDATE operations SET waitsFor = (SELECT blocker FROM blockers b WHERE b.operation = operations.id LIMIT 1)
      WHERE id IN (SELECT operation FROM blockers);
    CREATE INDEX operationsByBlocker ON operations(waitsFor) WHERE waitsFor IS NOT NULL;
    INSERT INTO cycleChecks(operation) SELECT id FROM operations o WHERE waitsFor IS NOT NULL
      AND (atomicGroup IS NOT NULL OR EXISTS (SELECT 1 FROM operations d WHERE d.waitsFor = o.id));

    CREATE TRIGGER blockerEnded AFTER DELETE ON operations
      WHEN EXISTS (SELECT 1 FROM operations WHERE waitsFor = old.id)
    BEGIN
      INSERT OR REPLACE INTO formerBlockers(blocker) VALUES (old.id);
    END;
    CREATE TRIGGER blockerTurned AFTER UPDATE OF operation, baseTag ON operations
      WHEN (old.operation <> new.operation OR old.baseTag IS NOT new.baseTag)
        AND EXISTS (SELECT 1 FROM operations WHERE waitsFor = old.id)
    BEGIN
      INSERT OR REPLACE INTO formerBlockers(blocker) VALUES (old.id);
    END;
    CREATE TRIGGER blockerUnlinked AFTER DELETE ON refs
      WHEN EXISTS (SELECT 1 FROM operations WHERE waitsFor = old.operation)
    BEGIN
      INSERT OR REPLACE INTO formerBlockers(blocker) VALUES (old.operation);
    END;
    -- The group may now be part of a cycle.
    CREATE TRIGGER groupJoined AFTER UPDATE OF atomicGroup ON operations
      WHEN new.atomicGroup IS NOT NULL AND old.atomicGroup IS NOT new.atomicGroup
    BEGIN
      INSERT OR REPLACE INTO cycleChecks(operation) VALUES (new.id);
    END;

    CREATE TRIGGER mirrorKnown AFTER INSERT ON operations WHEN new.name IS NOT NULL AND EXISTS
      (SELECT 1 FROM records r WHERE r.zone = new.zone AND r.owner = new.owner AND r.name = new.name)
    BEGIN
      UPDATE operations SET isMirrored = 1 WHERE id = new.id;
    END;
    CREATE TRIGGER mirrorGained AFTER INSERT ON records BEGIN
      UPDATE operations SET isMirrored = 1 WHERE zone = new.zone AND owner = new.owner AND name = new.name;
    END;
    CREATE TRIGGER mirrorLost AFTER DELETE ON records BEGIN
      UPDATE operations SET isMirrored = 0 WHERE zone = old.zone AND owner = old.owner AND name = old.name;
    END;

    -- The queue's counts, by kind of change too.
    DROP TRIGGER countInserted;
    DROP TRIGGER countDeleted;
    DROP TRIGGER countMoved;
    DROP TABLE queueCounts;
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
    INSERT INTO queueCounts
      SELECT state, zone, owner, coalesce(type, ''), operation, count(*), sum(bytes) FROM operations
      GROUP BY state, zone, owner, coalesce(type, ''), operation;
    CREATE TRIGGER countInserted AFTER INSERT ON operations BEGIN
      \(countOperation("new", "+"))
      \(countQueued("new", "+"))
    END;
    CREATE TRIGGER countDeleted AFTER DELETE ON operations BEGIN
      \(countOperation("old", "-"))
      \(countQueued("old", "-"))
    END;
    CREATE TRIGGER countMoved AFTER UPDATE OF state, type, bytes, operation ON operations
      WHEN old.state <> new.state OR old.type IS NOT new.type OR old.bytes <> new.bytes
        OR old.operation <> new.operation
    BEGIN
      \(countOperation("old", "-"))
      \(countOperation("new", "+"))
    END;

    -- Operations to send that have no known blocker: by part of the queue, and by the end of their wait.
    CREATE INDEX operationsFree ON operations(zone, owner, operation, type, id)
      WHERE state = 'pending' AND waitsFor IS NULL AND needsReadBack = 0 AND needsUpload = 0 AND name IS NOT NULL;
    CREATE INDEX operationsDue ON operations(zone, owner, operation, type, nextAttemptAt)
      WHERE state = 'waiting' AND waitsFor IS NULL AND needsReadBack = 0 AND needsUpload = 0 AND name IS NOT NULL;
    DROP INDEX operationsToReadBack;
    CREATE INDEX operationsToReadBack ON operations(id)
      WHERE needsReadBack = 1 AND state IN ('pending', 'waiting') AND name IS NOT NULL;
    DROP INDEX operationsToUpload;
    CREATE INDEX operationsToUpload ON operations(id)
      WHERE needsUpload = 1 AND needsReadBack = 0 AND state IN ('pending', 'waiting');
    -- Cycles are found by the notes.
    DROP INDEX refsThatBlock;
    -- Records that exist in the queue alone.
    CREATE INDEX operationsThatCreate ON operations(zone, owner, name)
      WHERE isMirrored = 0 AND operation = 'save' AND name IS NOT NULL;
    -- By the name first, which filters ask for alone.
    DROP INDEX operationsByRecord;
    CREATE UNIQUE INDEX operationsByRecord ON operations(name, zone, owner) WHERE name IS NOT NULL;
    CREATE INDEX operationsByKind ON operations(operation, id);
    """

  /// Adds a row of `operations` to the queue's counts, or subtracts it.
  private static func countOperation(_ row: String, _ sign: String) -> String {
    """
    INSERT INTO queueCounts VALUES
        (\(row).state, \(row).zone, \(row).owner, coalesce(\(row).type, ''), \(row).operation, \(sign)1, \(sign)\(row).bytes)
        ON CONFLICT DO UPDATE SET count = count + excluded.count, bytes = bytes + excluded.bytes;
    """
  }
}
