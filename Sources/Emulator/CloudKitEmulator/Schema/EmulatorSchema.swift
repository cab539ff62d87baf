@_exported public import CloudKitSchema
import Synchronization

/// Import, export and deployment of schemas in CloudKit's schema language, as used by `cktool` and CloudKit Console.
extension Emulator {
  /// Replaces the schema of a container with one in Apple's schema language (`.ckdb`).
  ///
  /// As at the real service, the new schema must keep all types and fields that are in production, and their types; in
  /// development, everything else may be removed. Records keep the values of removed fields. The real service imports
  /// only into development, and production gets its schema by deployment. Here, importing into production does both.
  ///
  /// - Parameters:
  ///   - text: The schema, at most 4 MB, beginning with `DEFINE SCHEMA`.
  ///   - container: The container's identifier, e.g. `iCloud.com.example.notes`.
  ///   - environment: `development` or `production`.
  /// - Throws: `CKSchemaError` with line and column; `EmulatorError` if the container or environment is invalid or the
  ///   data file cannot be written.
  public func importSchema(_ text: String, container: String, environment: String = "development") throws {
    try Self.check(container, environment)
    var schema = try CKSchema(parsing: text)
    schema.completePredefinedTypes()
    try withCore { core in
      let (current, deployed) = (core.world.schema(container, environment), core.world.schema(container, "production"))
      try schema.validate(over: current, deployed: deployed)
      do throws(ServerError) {
        try core.setSchema(schema, of: container, environment)
      } catch {
        throw EmulatorError(error)
      }
    }
  }

  static func check(_ container: String, _ environment: String) throws(EmulatorError) {
    guard Route.isContainer(container), ["development", "production"].contains(environment) else {
      throw EmulatorError(.badRequest("Invalid container '\(container)' or environment '\(environment)'"))
    }
  }

  /// Returns the schema of a container in Apple's schema language. Equal schemas give equal texts.
  ///
  /// The text has the imported schema and, in development, what writes have added since.
  public func exportSchema(container: String, environment: String = "development") -> String {
    core.withLock { $0.world.schema(container, environment) }.exported
  }

  /// Deploys the schema of a container: merges the record types, fields, indexes, grants and roles of development into
  /// production, where writes cannot add to them.
  ///
  /// - Throws: `EmulatorError` if the container is invalid, a field has another type in production, or the data file
  ///   cannot be written.
  public func deploySchema(of container: String) throws(EmulatorError) {
    try Self.check(container, "production")
    try edit { core throws(ServerError) in
      let schema = core.world.schema(container, "development")
      try core.setSchema(
        try schema.deployed(over: core.world.schema(container, "production")),
        of: container,
        "production"
      )
    }
  }
}

extension World {
  fileprivate func schema(_ container: String, _ environment: String) -> CKSchema {
    schemas[DatabaseKey(container: container, environment: environment, owner: nil).schema] ?? .predefined
  }
}

extension EmulatorCore {
  fileprivate func setSchema(
    _ schema: CKSchema,
    of container: String,
    _ environment: String
  ) throws(ServerError) {
    let key = DatabaseKey(container: container, environment: environment, owner: nil)
    try commit(world.commit(of: [.schemaChanged(schema)], in: key))
  }
}
