extension Schema {
  /// Both sides of what was dropped, and what of it a person has seen.
  static let droppedSides = """
    -- The server's values that a decision overwrote, with those that took their place.
    ALTER TABLE dropped ADD COLUMN overwritten TEXT;
    -- Of a discard: what its operation had besides the columns here, by their names.
    ALTER TABLE dropped ADD COLUMN former TEXT;
    -- The time of the edit that an undo brings back.
    ALTER TABLE dropped ADD COLUMN editedAt INTEGER NOT NULL DEFAULT 0;
    -- A policy or the app dropped a local change, so that a person has to see it.
    ALTER TABLE dropped ADD COLUMN isAutomatic INTEGER NOT NULL DEFAULT 0;

    -- Earlier versions did not keep the time of the edit: it was made when its operation was accepted, or later.
    UPDATE dropped SET editedAt = coalesce(
      (SELECT editedAt FROM operations WHERE id = dropped.operationId),
      (SELECT max(enqueuedAt) FROM history WHERE operationId = dropped.operationId), at);
    UPDATE dropped SET isAutomatic = 1 WHERE \(isAutomatic);
    -- A resolution that dropped nothing could be undone until it was sent.
    UPDATE dropped SET isOpen = 0 WHERE \(keepsNothing)
      AND NOT EXISTS (SELECT 1 FROM operations WHERE operations.id = dropped.operationId);

    CREATE TABLE droppedTotals(
      one INTEGER PRIMARY KEY CHECK (one = 1),
      -- Operations of which something can be undone.
      undoable INTEGER NOT NULL,
      -- Operations with a change that no person has seen.
      unseen INTEGER NOT NULL,
      -- A person has seen the changes up to this one.
      seenThrough INTEGER NOT NULL
    ) STRICT;
    INSERT INTO droppedTotals SELECT 1, count(DISTINCT iif(isOpen, operationId, NULL)),
      count(DISTINCT iif(isAutomatic, operationId, NULL)), 0 FROM dropped;

    CREATE TRIGGER droppedAdded AFTER INSERT ON dropped BEGIN
      UPDATE droppedTotals SET
        undoable = undoable + (new.isOpen AND NOT \(another("isOpen", "new"))),
        unseen = unseen + (new.isAutomatic AND NOT \(another("isAutomatic AND id > seenThrough", "new")));
    END;
    CREATE TRIGGER droppedClosed AFTER UPDATE OF isOpen ON dropped WHEN old.isOpen AND NOT new.isOpen BEGIN
      UPDATE droppedTotals SET undoable = undoable - NOT \(another("isOpen", "new"));
    END;
    CREATE TRIGGER droppedRemoved AFTER DELETE ON dropped BEGIN
      UPDATE droppedTotals SET
        undoable = undoable - (old.isOpen AND NOT \(another("isOpen", "old"))),
        unseen = unseen - (old.isAutomatic AND old.id > seenThrough
          AND NOT \(another("isAutomatic AND id > seenThrough", "old")));
    END;
    -- Nothing is kept that could be restored once a resolution is sent that overwrote files alone.
    CREATE TRIGGER resolutionSent AFTER DELETE ON operations
      WHEN EXISTS (SELECT 1 FROM dropped WHERE operationId = old.id AND isOpen AND conflict IS NOT NULL)
    BEGIN
      UPDATE dropped SET isOpen = 0 WHERE operationId = old.id AND isOpen AND \(keepsNothing);
    END;
    """

  /// Whether another dropped change of the same operation fits a condition.
  private static func another(_ condition: String, _ row: String) -> String {
    "EXISTS (SELECT 1 FROM dropped WHERE operationId = \(row).operationId AND id <> \(row).id AND \(condition))"
  }

  /// A resolution for this side of which nothing is kept: no dropped values and no overwritten ones.
  private static let keepsNothing = """
    (conflict IS NOT NULL AND overwritten IS NULL AND operation = 'save' \
    AND changes = '{"cleared":[],"values":{}}')
    """

  /// The causes for which no person dropped a change, as earlier versions stored them.
  private static let isAutomatic = """
    (reason LIKE '{"serverKept":%' OR reason LIKE '{"serverSideKept":%' \
    OR reason IN ('{"resolved":{"by":"app"}}', '{"resolved":{"by":"policy"}}')) \
    AND NOT (operation = 'save' AND changes = '{"cleared":[],"values":{}}')
    """
}
