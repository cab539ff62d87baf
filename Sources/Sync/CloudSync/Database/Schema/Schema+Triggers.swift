extension Schema {
  static let triggers = counts + files + blocking + holds + dropping + delivery + clearing + encryption

  /// Counts, so that the status of a long queue is as fast as that of an empty one.
  private static let counts = """
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

    """

  /// Adds a row of `operations` to the queue's counts, or subtracts it.
  private static func countOperation(_ row: String, _ sign: String) -> String {
    """
    INSERT INTO queueCounts VALUES
        (\(row).state, \(row).zone, \(row).owner, coalesce(\(row).type, ''), \(row).operation, \(sign)1, \(sign)\(row).bytes)
        ON CONFLICT DO UPDATE SET count = count + excluded.count, bytes = bytes + excluded.bytes;
    """
  }

  /// Adds the change that an operation makes to the number of records, or subtracts it: a save adds one if the mirror
  /// has none, a delete subtracts one if the mirror has one.
  private static func countQueued(_ row: String, _ sign: String) -> String {
    let isMirrored =
      "EXISTS (SELECT 1 FROM records r WHERE r.zone = \(row).zone AND r.owner = \(row).owner AND r.name = \(row).name)"
    return """
      INSERT INTO recordCounts(zone, owner, type, queued)
          SELECT \(row).zone, \(row).owner, \(row).type, \(sign)(CASE \(row).operation WHEN 'save' THEN NOT \(isMirrored)
            WHEN 'delete' THEN -(\(isMirrored)) ELSE 0 END) WHERE \(row).type IS NOT NULL
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

  /// The notes of blockers and of mirrored records in the queue.
  private static let blocking = """
    CREATE TRIGGER blockerEnded AFTER DELETE ON operations
      WHEN EXISTS (SELECT 1 FROM operations WHERE waitsFor = old.id)
    BEGIN
      INSERT OR REPLACE INTO endedBlockers(blocker) VALUES (old.id);
    END;
    CREATE TRIGGER blockerTurned AFTER UPDATE OF operation, baseTag ON operations
      WHEN (old.operation <> new.operation OR old.baseTag IS NOT new.baseTag)
        AND EXISTS (SELECT 1 FROM operations WHERE waitsFor = old.id)
    BEGIN
      INSERT OR REPLACE INTO endedBlockers(blocker) VALUES (old.id);
    END;
    CREATE TRIGGER blockerUnlinked AFTER DELETE ON refs
      WHEN EXISTS (SELECT 1 FROM operations WHERE waitsFor = old.operation)
    BEGIN
      INSERT OR REPLACE INTO endedBlockers(blocker) VALUES (old.operation);
    END;
    -- What blocked a member from outside may now be in the group, or wait for it.
    CREATE TRIGGER groupJoined AFTER UPDATE OF atomicGroup ON operations
      WHEN new.atomicGroup IS NOT NULL AND old.atomicGroup IS NOT new.atomicGroup
    BEGIN
      UPDATE operations SET waitsFor = NULL WHERE atomicGroup = new.atomicGroup AND waitsFor IS NOT NULL;
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

    """

  /// Versions of deletions on hold, for decisions about them.
  private static let holds = """
    CREATE TRIGGER holdMarked AFTER UPDATE OF epoch ON records WHEN (old.epoch < 0) <> (new.epoch < 0) BEGIN
      \(raise("new"))
    END;
    CREATE TRIGGER holdForgotten AFTER DELETE ON records WHEN old.epoch < 0 BEGIN
      \(raise("old"))
    END;
    -- Another hold, or a zone that is gone as a whole.
    CREATE TRIGGER holdTurned AFTER UPDATE OF heldSince, state ON zones
      WHEN new.heldSince IS NOT NULL AND (old.heldSince IS NOT new.heldSince OR old.state <> new.state)
    BEGIN
      \(raise("new"))
    END;

    """

  /// Only a zone with a hold is written, so that marking many records stays cheap.
  private static func raise(_ row: String) -> String {
    """
    UPDATE zones SET heldNumber = heldNumber + 1
        WHERE zone = \(row).zone AND owner = \(row).owner AND heldSince IS NOT NULL;
    """
  }
}
