import CloudKit

/// The code of the CloudKit error that a call throws; nil where it throws none.
func errorCode<Result>(_ body: () async throws -> Result) async -> CKError.Code? {
  do {
    _ = try await body()
    return nil
  } catch {
    return (error as? CKError)?.code
  }
}
