/// The way in which an asset transport reports progress without a part in its protocol.
package enum AssetBytes {
  /// Gets the number of bytes that were transferred since the last report.
  package typealias Report = @Sendable (Int64) -> Void

  /// The report for the transfer of the current task; nil if nobody asked for it.
  @TaskLocal package static var report: Report?
}
