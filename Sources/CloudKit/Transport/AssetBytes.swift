/// Reports the bytes of an asset transfer to the operation, through a task-local value.
package enum AssetBytes {
  /// Receives the number of bytes that were transferred since the last report.
  package typealias Report = @Sendable (Int64) -> Void

  /// The report for the transfer of the current task; nil if progress is not observed.
  @TaskLocal package static var report: Report?
}
