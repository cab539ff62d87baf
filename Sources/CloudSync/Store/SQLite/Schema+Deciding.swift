extension Schema {
  /// Versions of deletions on hold, for decisions about them.
  static let deciding = """
    -- A wait that the server asked for lasts a day at most; earlier versions kept ones of years.
    UPDATE throttles SET until = min(until, (CAST(strftime('%s', 'now') AS INTEGER) + 86400) * 1000), seconds = min(seconds, 86400);
    UPDATE operations SET nextAttemptAt = min(nextAttemptAt, (CAST(strftime('%s', 'now') AS INTEGER) + 86400) * 1000)
      WHERE state = 'waiting';
    -- Raised whenever what a zone has on hold changes, so that its version is read without counting.
    ALTER TABLE zones ADD COLUMN heldNumber INTEGER NOT NULL DEFAULT 0;

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
