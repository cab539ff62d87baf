import Dispatch

/// Acts once after a burst of calls, but at most a given time after its start.
@MainActor
final class Debounce {
  private let quiet: DispatchTimeInterval
  private let longest: DispatchTimeInterval
  private var end: DispatchTime?
  private var last = 0

  init(quiet: DispatchTimeInterval, atMost longest: DispatchTimeInterval) {
    (self.quiet, self.longest) = (quiet, longest)
  }

  func schedule(_ action: @escaping @MainActor () -> Void) {
    last += 1
    let call = last
    let now = DispatchTime.now()
    let end = end ?? now + longest
    self.end = end
    DispatchQueue.main.asyncAfter(deadline: min(now + quiet, end)) { [weak self] in
      MainActor.assumeIsolated {
        guard let self, self.end != nil, self.last == call || DispatchTime.now() >= end else { return }
        self.end = nil
        action()
      }
    }
  }
}
