extension Schema {
  /// What a decision about deletions on hold is tied to.
  static let deciding = """
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

  /// Without a hold there is nothing to be raised: marking many records writes the zone only where one stands.
  private static func raise(_ row: String) -> String {
    """
    UPDATE zones SET heldNumber = heldNumber + 1
        WHERE zone = \(row).zone AND owner = \(row).owner AND heldSince IS NOT NULL;
    """
  }
}
