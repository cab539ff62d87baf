extension Schema {
  /// The history of verdicts, which syncing processes write.
  static let verdicts = """
    -- A verdict that held from `at` on, while the process with this fencing token was alive, at least until `until`.
    CREATE TABLE verdicts(
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      at INTEGER NOT NULL,
      until INTEGER NOT NULL,
      name TEXT NOT NULL,
      urgency TEXT NOT NULL,
      fencingToken INTEGER NOT NULL
    ) STRICT;
    """
}
