/// Reports the bytes of an asset transfer to the operation, through a task-local value.
package enum AssetBytes {
  /// Receives the number of bytes that were transferred since the last report.
  ///
  /// A type of its own, because Swift 6.3 crashes on a task-local value of a function type in an optimized build.
  package struct Report: Sendable {
    private let body: @Sendable (Int64) -> Void

    package init(_ body: @escaping @Sendable (Int64) -> Void) { self.body = body }

    package func callAsFunction(_ count: Int64) { body(count) }
  }

  /// The report for the transfer of the current task; nil if progress is not observed.
  @TaskLocal package static var report: Report?
}
