/// The parts of a container that a sync engine uses.
extension CKContainer {
  /// The client that sends requests as this container's user.
  ///
  /// - Throws: The error that every call throws when the configuration is unusable.
  package func webServices() throws(CKError) -> WebServicesClient { try client.get() }
}

extension CKError {
  /// Converts the error that stopped a sync cycle to a `CKError`.
  package init(stopping failure: WebServicesError) { self.init(failure, in: .write) }

  /// Converts the error of one item of a request.
  package init(ofItem failure: WebServicesError) { self.init(failure, in: .item) }
}
