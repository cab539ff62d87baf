extension Schema {
  /// Counts what needs each copied file, so that only files whose last use has ended are looked at.
  static let files = """
    CREATE TRIGGER fileAdded AFTER INSERT ON operations WHEN new.assets IS NOT NULL BEGIN
      \(addFiles)
    END;
    -- Assets that can no longer be read are still needed.
    CREATE TRIGGER fileChanged AFTER UPDATE OF assets ON operations
      WHEN old.assets IS NOT new.assets AND json_valid(coalesce(new.assets, '[]'))
    BEGIN
      \(addFiles)
      \(removeFiles)
    END;
    CREATE TRIGGER fileRemoved AFTER DELETE ON operations WHEN old.assets IS NOT NULL BEGIN
      \(removeFiles)
    END;
    CREATE TRIGGER droppedFileAdded AFTER INSERT ON dropped WHEN new.isOpen AND new.assets IS NOT NULL BEGIN
      \(addFiles)
    END;
    CREATE TRIGGER droppedFileClosed AFTER UPDATE OF isOpen ON dropped
      WHEN old.isOpen AND NOT new.isOpen AND old.assets IS NOT NULL
    BEGIN
      \(removeFiles)
    END;
    CREATE TRIGGER droppedFileRemoved AFTER DELETE ON dropped WHEN old.isOpen AND old.assets IS NOT NULL BEGIN
      \(removeFiles)
    END;

    """

  private static let addFiles = """
    INSERT INTO assetFiles SELECT DISTINCT \(copiedFile), 1 FROM \(assets(of: "new"))
        WHERE \(copiedFile) IS NOT NULL ON CONFLICT DO UPDATE SET uses = uses + 1;
    """
  private static let removeFiles = """
    UPDATE assetFiles SET uses = uses - 1
        WHERE uses > 0 AND digest IN (SELECT \(copiedFile) FROM \(assets(of: "old")));
    """

  /// The assets of a row of `operations` or `dropped`.
  static func assets(of row: String) -> String {
    "json_each(iif(json_valid(\(row).assets), \(row).assets, '[]')) AS asset"
  }
  /// The SHA-256 of an asset's file; null if it was not copied.
  static let copiedFile = """
    CASE asset.type WHEN 'object' THEN \
    iif(json_extract(asset.value, '$.path') IS NULL, json_extract(asset.value, '$.digest'), NULL) END
    """

  /// Totals of dropped changes, and the end of those that cannot be restored.
  static let dropping = """
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

  /// The condition for a resolution for this side that kept neither dropped nor overwritten values.
  static let keepsNothing = """
    (conflict IS NOT NULL AND overwritten IS NULL AND operation = 'save' \
    AND changes = '{"cleared":[],"values":{}}')
    """

  /// Changes to deliver to the app, recorded in the transactions that make them, and their number, so that no status
  /// counts them.
  static let delivery = """
    CREATE TRIGGER deliverNew AFTER INSERT ON records WHEN \(delivers) BEGIN
      \(deliver)
    END;
    CREATE TRIGGER deliverChanged AFTER UPDATE OF changeTag, fields ON records WHEN \(delivers) BEGIN
      \(deliver)
    END;
    CREATE TRIGGER deliverGone AFTER DELETE ON records WHEN \(delivers) BEGIN
      DELETE FROM deliveries WHERE zone = old.zone AND owner = old.owner AND name = old.name;
      INSERT INTO deliveries(zone, owner, name, type, fields)
        VALUES (old.zone, old.owner, old.name, old.type, old.fields);
    END;
    -- An edit that was given up leaves the app with values that exist nowhere else.
    CREATE TRIGGER deliverEnded AFTER DELETE ON operations WHEN old.name IS NOT NULL AND \(delivers) BEGIN
      -- With a new number: the app's present reading has the edit in it.
      INSERT OR REPLACE INTO deliveries(zone, owner, name, type, fields)
        SELECT old.zone, old.owner, old.name, coalesce(max(type), old.type, ''), max(fields) FROM deliveries
          WHERE zone = old.zone AND owner = old.owner AND name = old.name;
    END;
    -- A replaced row fires no trigger for its removal.
    CREATE TRIGGER deliveryAdded BEFORE INSERT ON deliveries
      WHEN NOT EXISTS (SELECT 1 FROM deliveries WHERE zone = new.zone AND owner = new.owner AND name = new.name)
    BEGIN
      UPDATE state SET deliveryCount = deliveryCount + 1;
    END;
    CREATE TRIGGER deliveryRemoved AFTER DELETE ON deliveries BEGIN
      UPDATE state SET deliveryCount = deliveryCount - 1;
    END;

    """

  private static let delivers = "(SELECT deliveriesAskedAt FROM state) IS NOT NULL"
  private static let deliver = """
    DELETE FROM deliveries WHERE zone = new.zone AND owner = new.owner AND name = new.name;
      INSERT INTO deliveries(zone, owner, name, type) VALUES (new.zone, new.owner, new.name, new.type);
    """

  /// Values that end with the row that they belong to.
  static let clearing = """
    CREATE TRIGGER pauseEnded AFTER UPDATE OF state ON operations WHEN old.state = 'paused' AND new.state <> 'paused' BEGIN
      DELETE FROM pausedWaits WHERE operation = old.id;
    END;
    CREATE TRIGGER placesRemoved AFTER DELETE ON records BEGIN
      DELETE FROM assetPlaces WHERE zone = old.zone AND owner = old.owner AND name = old.name;
    END;
    CREATE TRIGGER deletionEnded AFTER INSERT ON history
      WHEN new.operation IN ('delete', 'zoneDelete') AND new.ending = 'acknowledged'
    BEGIN
      INSERT OR REPLACE INTO tombstones(zone, owner, name, at)
        VALUES (new.zone, new.owner, coalesce(new.name, ''), new.endedAt);
    END;

    """

  /// Remembers which fields of a record type are encrypted when a value is stored: queued, fetched or restored.
  static let encryption = """
    CREATE TRIGGER queuedEncryptionFound AFTER INSERT ON operations WHEN \(hasSecret("new.changes")) BEGIN
      \(rememberQueued)
    END;
    CREATE TRIGGER queuedEncryptionChanged AFTER UPDATE OF changes ON operations
      WHEN new.changes IS NOT old.changes AND \(hasSecret("new.changes"))
    BEGIN
      \(rememberQueued)
    END;
    CREATE TRIGGER fetchedEncryptionFound AFTER INSERT ON records WHEN \(hasSecret("new.fields")) BEGIN
      \(rememberFetched)
    END;
    CREATE TRIGGER fetchedEncryptionChanged AFTER UPDATE OF fields ON records
      WHEN new.fields IS NOT old.fields AND \(hasSecret("new.fields"))
    BEGIN
      \(rememberFetched)
    END;
    -- A person takes back what only queued changes say. Another queued change may still say it.
    CREATE TRIGGER encryptionTakenBack AFTER INSERT ON history
      WHEN new.ending = 'discarded' AND EXISTS (SELECT 1 FROM encryptedFields WHERE operation = new.operationId)
    BEGIN
      UPDATE encryptedFields SET operation = coalesce((
        SELECT o.id FROM operations o WHERE o.type = new.type AND o.id < new.operationId AND \(hasSecret("o.changes"))
          AND NOT EXISTS (SELECT 1 FROM history h WHERE h.operationId = o.id)
          AND EXISTS (SELECT 1 FROM \(secrets("o.changes", "$.values")) AND f.key = encryptedFields.field)
          ORDER BY o.id DESC LIMIT 1
      ), 0) WHERE operation = new.operationId;
      DELETE FROM encryptedFields WHERE operation = 0;
    END;

    """

  /// Whether stored fields may have an encrypted value. Each has a flag, but for bytes, which have a type.
  private static func hasSecret(_ column: String) -> String {
    "(instr(\(column), '\"isEncrypted\":true') OR instr(\(column), '\"ENCRYPTED_'))"
  }

  /// The encrypted values among stored fields, with a condition to which others can be added.
  private static func secrets(_ column: String, _ path: String) -> String {
    """
    json_each(iif(json_valid(\(column)), \(column), '{}'), '\(path)') f \
    WHERE iif(f.type = 'object', \(Ledger.wireType), '') GLOB 'ENCRYPTED_*'
    """
  }

  private static let rememberQueued = """
    INSERT INTO encryptedFields SELECT new.type, f.key, \(Ledger.wireType), new.id
        FROM \(secrets("new.changes", "$.values")) AND new.type IS NOT NULL
        ON CONFLICT DO UPDATE SET \(newer), operation = max(operation, excluded.operation);
    """
  private static let rememberFetched = """
    INSERT INTO encryptedFields SELECT new.type, f.key, \(Ledger.wireType), NULL FROM \(secrets("new.fields", "$"))
        ON CONFLICT DO UPDATE SET \(newer), operation = NULL;
    """
  /// An empty list does not show the type of its elements.
  private static let newer =
    "wireType = iif(excluded.wireType = 'ENCRYPTED_UNKNOWN_LIST', wireType, excluded.wireType)"
}
