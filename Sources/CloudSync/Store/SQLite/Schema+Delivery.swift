extension Schema {
  /// Changes to deliver to the app, recorded by triggers in the transactions that make them.
  static let delivery = """
    CREATE TABLE deliveries(
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      zone TEXT NOT NULL,
      owner TEXT NOT NULL,
      name TEXT NOT NULL,
      type TEXT NOT NULL,
      -- What a record held last that is gone from the mirror.
      fields TEXT,
      UNIQUE (zone, owner, name)
    ) STRICT;

    CREATE TRIGGER deliverNew AFTER INSERT ON records WHEN EXISTS (SELECT 1 FROM meta WHERE key = 'delivers')
    BEGIN
      DELETE FROM deliveries WHERE zone = NEW.zone AND owner = NEW.owner AND name = NEW.name;
      INSERT INTO deliveries(zone, owner, name, type) VALUES (NEW.zone, NEW.owner, NEW.name, NEW.type);
    END;
    CREATE TRIGGER deliverChanged AFTER UPDATE OF changeTag, fields ON records
      WHEN EXISTS (SELECT 1 FROM meta WHERE key = 'delivers')
    BEGIN
      DELETE FROM deliveries WHERE zone = NEW.zone AND owner = NEW.owner AND name = NEW.name;
      INSERT INTO deliveries(zone, owner, name, type) VALUES (NEW.zone, NEW.owner, NEW.name, NEW.type);
    END;
    CREATE TRIGGER deliverGone AFTER DELETE ON records WHEN EXISTS (SELECT 1 FROM meta WHERE key = 'delivers')
    BEGIN
      DELETE FROM deliveries WHERE zone = OLD.zone AND owner = OLD.owner AND name = OLD.name;
      INSERT INTO deliveries(zone, owner, name, type, fields)
        VALUES (OLD.zone, OLD.owner, OLD.name, OLD.type, OLD.fields);
    END;
    -- An edit that was given up leaves the app with what nobody else has.
    CREATE TRIGGER deliverEnded AFTER DELETE ON operations
      WHEN OLD.name IS NOT NULL AND EXISTS (SELECT 1 FROM meta WHERE key = 'delivers')
    BEGIN
      -- With a new number: what is being taken just now has the edit in it.
      INSERT OR REPLACE INTO deliveries(zone, owner, name, type, fields)
        SELECT OLD.zone, OLD.owner, OLD.name, coalesce(max(type), OLD.type, ''), max(fields) FROM deliveries
          WHERE zone = OLD.zone AND owner = OLD.owner AND name = OLD.name;
    END;
    """
}
