extension Schema {
  /// A trigram index for text search.
  static let texts = """
    CREATE VIRTUAL TABLE operationTexts USING fts5(
      name, errorMessage, content='operations', content_rowid='id', tokenize='trigram', detail='column'
    );
    INSERT INTO operationTexts(operationTexts) VALUES ('rebuild');
    CREATE TRIGGER textInserted AFTER INSERT ON operations BEGIN
      INSERT INTO operationTexts(rowid, name, errorMessage) VALUES (new.id, new.name, new.errorMessage);
    END;
    CREATE TRIGGER textDeleted AFTER DELETE ON operations BEGIN
      \(removeText)
    END;
    CREATE TRIGGER textChanged AFTER UPDATE OF errorMessage ON operations WHEN old.errorMessage IS NOT new.errorMessage
    BEGIN
      \(removeText)
      INSERT INTO operationTexts(rowid, name, errorMessage) VALUES (new.id, new.name, new.errorMessage);
    END;
    """

  /// Only another program changes a name, but without this the index would make the row unwritable.
  static let renaming = """
    DROP TRIGGER textChanged;
    CREATE TRIGGER textChanged AFTER UPDATE OF name, errorMessage ON operations
      WHEN old.name IS NOT new.name OR old.errorMessage IS NOT new.errorMessage
    BEGIN
      \(removeText)
      INSERT INTO operationTexts(rowid, name, errorMessage) VALUES (new.id, new.name, new.errorMessage);
    END;
    """

  private static let removeText = """
    INSERT INTO operationTexts(operationTexts, rowid, name, errorMessage)
        VALUES ('delete', old.id, old.name, old.errorMessage);
    """
}
