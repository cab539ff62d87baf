extension Schema {
  /// Acknowledged deletions, which are kept longer than the log of endings, and the number of deliveries.
  static let tombstones = """
    -- The name is empty for a zone. A later deletion has a higher number.
    CREATE TABLE tombstones(
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      zone TEXT NOT NULL,
      owner TEXT NOT NULL,
      name TEXT NOT NULL,
      at INTEGER NOT NULL,
      UNIQUE (zone, owner, name)
    ) STRICT;
    INSERT OR REPLACE INTO tombstones(zone, owner, name, at)
      SELECT zone, owner, coalesce(name, ''), endedAt FROM history
      WHERE operation IN ('delete', 'zoneDelete') AND ending = 'acknowledged' ORDER BY id;
    CREATE TRIGGER deletionEnded AFTER INSERT ON history
      WHEN NEW.operation IN ('delete', 'zoneDelete') AND NEW.ending = 'acknowledged'
    BEGIN
      INSERT OR REPLACE INTO tombstones(zone, owner, name, at)
        VALUES (NEW.zone, NEW.owner, coalesce(NEW.name, ''), NEW.endedAt);
    END;
    DROP INDEX historyOfDeletions;
    DROP INDEX historyOfZoneDeletions;

    -- The time at which an app last asked for deliveries; earlier versions stored no time.
    UPDATE meta SET value = unixepoch() * 1000 WHERE key = 'delivers';
    -- The number of deliveries, so that no status counts them. A replaced row fires no trigger for its removal.
    INSERT OR REPLACE INTO meta(key, value) SELECT 'deliveryCount', count(*) FROM deliveries;
    CREATE TRIGGER deliveryAdded BEFORE INSERT ON deliveries
      WHEN NOT EXISTS (SELECT 1 FROM deliveries WHERE zone = NEW.zone AND owner = NEW.owner AND name = NEW.name)
    BEGIN
      UPDATE meta SET value = value + 1 WHERE key = 'deliveryCount';
    END;
    CREATE TRIGGER deliveryRemoved AFTER DELETE ON deliveries BEGIN
      UPDATE meta SET value = value - 1 WHERE key = 'deliveryCount';
    END;
    """
}
