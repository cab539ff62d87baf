internal import Dispatch

extension OperationSettings {
  /// Makes a call in its own task and passes its outcome to a handler, once.
  ///
  /// The handler runs on a Dispatch thread, because it may block and must not block Swift's thread pool.
  func callBack<Value: Sendable>(
    _ handler: @escaping @Sendable (Result<Value, any Error>) -> Void,
    _ call: @escaping @Sendable () async throws -> Value
  ) {
    Task(priority: priority) {
      let result: Result<Value, any Error>
      do { result = .success(try await call()) } catch { result = .failure(error) }
      DispatchQueue.global().async { handler(result) }
    }
  }

  /// Makes a call in its own task and passes its outcome to a handler of the older form, once.
  func callBack<Value: Sendable>(
    _ handler: @escaping @Sendable (Value?, (any Error)?) -> Void,
    _ call: @escaping @Sendable () async throws -> Value
  ) {
    callBack({ (result: Result<Value, any Error>) in handler(try? result.get(), result.failure) }, call)
  }
}
