extension Schema {
  /// Values that end with the operation or zone that they belong to.
  static let clearing = """
    -- The rest of a server's wait is kept during a pause; it ends with the pause, however that ends.
    CREATE TRIGGER pauseEnded AFTER UPDATE OF state ON operations WHEN old.state = 'paused' AND new.state <> 'paused' BEGIN
      DELETE FROM meta WHERE key = 'wait ' || old.id;
    END;
    CREATE TRIGGER pausedRemoved AFTER DELETE ON operations WHEN old.state = 'paused' BEGIN
      DELETE FROM meta WHERE key = 'wait ' || old.id;
    END;
    DELETE FROM meta WHERE key LIKE 'wait %'
      AND CAST(substr(key, 6) AS INTEGER) NOT IN (SELECT id FROM operations WHERE state = 'paused');

    -- The deletions that were applied in the current hour: since when, of how many records, and how many. Earlier versions
    -- kept them under the names of owner and zone, which can contain the separator; their last hour is not counted.
    ALTER TABLE zones ADD COLUMN lossesSince INTEGER;
    ALTER TABLE zones ADD COLUMN lossesOf INTEGER;
    ALTER TABLE zones ADD COLUMN losses INTEGER;
    DELETE FROM meta WHERE key LIKE 'losses %';

    -- Operations on records of the zone up to this one are superseded by its pending zone delete.
    ALTER TABLE zones ADD COLUMN supersededThrough INTEGER;
    """

  /// The places of asset bytes end with the record that holds them.
  static let places = """
    DELETE FROM assetPlaces WHERE NOT EXISTS (
      SELECT 1 FROM records
      WHERE records.zone = assetPlaces.zone AND records.owner = assetPlaces.owner AND records.name = assetPlaces.name
    );
    CREATE INDEX assetPlacesByRecord ON assetPlaces(zone, owner, name, field);
    CREATE TRIGGER placesRemoved AFTER DELETE ON records BEGIN
      DELETE FROM assetPlaces WHERE zone = old.zone AND owner = old.owner AND name = old.name;
    END;
    """
}
