public import CloudKit

/// Decodes records with the models behind their references, which it fetches level by level.
package struct LinkLoader {
  /// Returns the records with these IDs, with at least these fields; nil for all.
  package typealias Fetch = ([CKRecord.ID], [CKRecord.FieldKey]?) async throws -> Records
  package typealias Records = [CKRecord.ID: Result<CKRecord, any Error>]

  private let fetch: Fetch
  private let resolver: LinkResolver

  package init(following depth: LinkDepth, fetch: @escaping Fetch) {
    self.fetch = fetch
    resolver = LinkResolver(following: depth)
  }

  /// The cycles that the last load found.
  var cycles: [[CKRecord.ID]] { resolver.cycles }

  /// Returns the models of records.
  ///
  /// Decoding finds the IDs that are missing. Each is fetched once, and decoding starts again, until none is missing.
  package func models<Model: CKRecordModel & Decodable>(
    _ type: Model.Type,
    from records: [Result<CKRecord, any Error>]
  ) async throws -> [Result<Model, any Error>] {
    for case .success(let record) in records {
      resolver.records[LinkResolver.Target(id: record.recordID, type: type)] = record
    }
    while true {
      resolver.restart()
      let models = records.map { result in
        result.flatMap { record in Result<Model, any Error> { try resolver.decode(type, from: record) } }
      }
      guard !resolver.missing.isEmpty else { return models }
      try await add(resolver.missing)
    }
  }

  private func add(_ missing: Set<LinkResolver.Target>) async throws {
    // A type that does not list its fields needs all, and then so do the others of the request.
    let keys = missing.map { $0.model.type.desiredKeys }
    let desiredKeys: [CKRecord.FieldKey]? =
      keys.contains(nil) ? nil : Set(keys.compactMap(\.self).flatMap(\.self)).sorted()
    let results = try await fetch(missing.map(\.id), desiredKeys)
    for target in missing {
      switch results[target.id] {
      case .success(let record)?: resolver.records[target] = record
      case .failure(let error as CKError)? where error.isAbsence:
        resolver.absent.insert(target.id)
      case .failure(let error)?: resolver.failures[target.id] = error
      case nil: resolver.absent.insert(target.id)
      }
    }
  }
}

extension Link where Model: Decodable {
  /// Returns the model of the target from the server, whether it is loaded or not; nil if there is none.
  ///
  /// - Throws: `CKModelError` if the record does not match; otherwise the server's error.
  public func load(from database: CKDatabase, following depth: LinkDepth = .none) async throws -> Model? {
    try await database.load(Model.self, named: recordName, in: recordID?.zoneID, following: depth)
  }
}
