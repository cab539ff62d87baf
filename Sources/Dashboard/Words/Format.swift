package import CloudSync
import Facts

extension Format {
  /// An amount in the unit of a phase: bytes for uploads, otherwise operations.
  fileprivate static func amount(_ count: Int, _ phase: CloudSync.Progress.Phase) -> String {
    phase == .upload ? bytes(count) : number(count)
  }
}

extension CloudSync.Progress {
  /// The amount done, for people.
  package var amount: String { Format.amount(done, phase) }
  /// The total amount, for people.
  package var whole: String { Format.amount(total, phase) }
}
