import Synchronization

/// Schemas in CloudKit's own language, as `cktool` and CloudKit Console import and export them.
extension Emulator {
  /// Replaces the schema of a container with one in Apple's schema language (`.ckdb`).
  ///
  /// As at the real service, nothing that is in production may be lost or change its type; in development everything
  /// else may be removed. Records keep what they hold in fields that are gone. The real service imports into
  /// development alone, and production gets its schema by a deployment: importing into production stands for both here.
  ///
  /// - Parameters:
  ///   - text: At most 4 MB, beginning with `DEFINE SCHEMA`.
  ///   - container: The container's identifier, e.g. `iCloud.com.example.notes`.
  ///   - environment: `development` or `production`.
  /// - Throws: `SchemaError` with line and column; `EmulatorError` where the data file cannot be written.
  public func importSchema(_ text: String, container: String, environment: String = "development") throws {
    guard text.utf8.count <= SchemaParser.sizeLimit else {
      throw SchemaError("More than \(SchemaParser.sizeLimit) bytes", at: SchemaPlace())
    }
    try Self.check(container, environment)
    let parsed = try SchemaParser(text)
    try core.withLock { core in
      let key = DatabaseKey(container: container, environment: environment, owner: nil)
      let production = DatabaseKey(container: container, environment: "production", owner: nil)
      let (current, deployed) = (core.schemas[key.schema] ?? Schema(), core.schemas[production.schema] ?? Schema())
      try SchemaUpdate(parsed: parsed, current: current, deployed: deployed).validate()
      do throws(ServerError) {
        try core.commit([.schemaChanged(parsed.schema)], to: key)
      } catch {
        throw EmulatorError(error)
      }
    }
  }

  static func check(_ container: String, _ environment: String) throws(EmulatorError) {
    guard Route.isContainer(container), ["development", "production"].contains(environment) else {
      throw EmulatorError(.badRequest("There is no container '\(container)' with environment '\(environment)'"))
    }
  }

  /// The schema of a container in Apple's schema language, in one spelling: equal schemas give equal texts.
  ///
  /// It holds what was imported and, in development, what writes have added since.
  public func exportSchema(container: String, environment: String = "development") -> String {
    let key = DatabaseKey(container: container, environment: environment, owner: nil)
    return SchemaWriter.text(core.withLock { $0.schemas[key.schema] ?? Schema() })
  }

  /// Deploys the schema of a container: merges record types, fields, indexes, grants and roles of development into
  /// production, where writes may not add to them.
  ///
  /// - Throws: `EmulatorError` where a field of production has another type in development, or the data file cannot be
  ///   written.
  public func deploySchema(of container: String) throws(EmulatorError) {
    try Self.check(container, "production")
    try core.withLock { core throws(EmulatorError) in
      let source = DatabaseKey(container: container, environment: "development", owner: nil)
      let target = DatabaseKey(container: container, environment: "production", owner: nil)
      do throws(ServerError) {
        let schema = try (core.schemas[source.schema] ?? Schema()).deployed(
          over: core.schemas[target.schema] ?? Schema()
        )
        try core.commit([.schemaChanged(schema)], to: target)
      } catch {
        throw EmulatorError(error)
      }
    }
  }
}
