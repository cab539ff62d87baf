/// What a sync engine needs of a container.
extension CKContainer {
  /// What speaks to the server as this container's user.
  ///
  /// - Throws: what every call of an unusable configuration throws.
  package func webServices() throws(CKError) -> WebServicesClient { try client.get() }
}

extension CKError {
  /// What stopped a pass of a sync engine, in Apple's words.
  package init(stopping failure: WebServicesError) { self.init(failure, in: .write) }
}
