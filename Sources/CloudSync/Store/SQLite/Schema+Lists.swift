extension Schema {
  /// Indexes for the orders of lists.
  static let lists = """
    -- The latest changes on the server first.
    CREATE INDEX recordsByChange ON records(modifiedAt);
    """
}
