package import Foundation

extension WebServicesClient {
  /// The container, environment and credential of a client.
  package struct Configuration: Sendable {
    package var container: String
    package var environment: String
    package var credential: CKCredential?
    package var now: @Sendable () -> Date
    /// Called with each new web auth token, before its response is returned.
    package var tokenRotated: @Sendable (String) -> Void
    /// Called with a web auth token that is no longer valid and was dropped. If it is nil, a refused token is sent
    /// again with the next request. A sign-in or sign-out that it begins follows when it returns.
    package var tokenRefused: (@Sendable (String) -> Void)?
    package var instruments: Instruments
    /// The cache of records that the containers of one configuration share; nil for none.
    package var cache: SharedRecordCache?

    package init(
      container: String,
      environment: String,
      credential: CKCredential?,
      now: @escaping @Sendable () -> Date = { Date() },
      tokenRotated: @escaping @Sendable (String) -> Void = { _ in },
      tokenRefused: (@Sendable (String) -> Void)? = nil,
      instruments: Instruments = Instruments(Instruments.silent),
      cache: SharedRecordCache? = nil
    ) {
      self.container = container
      self.environment = environment
      self.credential = credential
      self.now = now
      self.tokenRotated = tokenRotated
      self.tokenRefused = tokenRefused
      self.instruments = instruments
      self.cache = cache
    }
  }
}
