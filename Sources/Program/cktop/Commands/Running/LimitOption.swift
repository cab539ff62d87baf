import ArgumentParser

/// `--limit`.
struct LimitOption: ParsableArguments {
  @Option(name: .customLong("limit"), parsing: .unconditional, help: "Maximum number of rows; of events, the newest.")
  var rows: Int?

  func validate() throws {
    if let rows, rows < 0 { throw ValidationError("--limit must not be negative") }
  }

  /// The maximum number.
  var count: Int { rows ?? .max }
}
