internal import Dispatch

extension OperationSettings {
  /// Makes a call in a task of its own and hands its outcome to a handler, once.
  ///
  /// The handler is the program's code, which may wait: it runs on a thread of Dispatch, since waiting there holds up
  /// nobody's task.
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

  /// Makes a call in a task of its own and hands its outcome to a handler of the older form, once.
  func callBack<Value: Sendable>(
    _ handler: @escaping @Sendable (Value?, (any Error)?) -> Void,
    _ call: @escaping @Sendable () async throws -> Value
  ) {
    callBack({ (result: Result<Value, any Error>) in handler(try? result.get(), result.failure) }, call)
  }
}
