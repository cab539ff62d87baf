import Testing

@testable import CloudService

/// How often something may be done.
struct PaceTests {
  private let start = ContinuousClock.now

  @Test func `the first time is at once, and the next one an interval after the last`() {
    var pace = Pace(every: .milliseconds(500))
    #expect(pace.wait(at: start) == .zero)
    pace.note(at: start)

    #expect(pace.wait(at: start) == .milliseconds(500))
    #expect(pace.wait(at: start + .milliseconds(200)) == .milliseconds(300))
    #expect(pace.wait(at: start + .milliseconds(500)) == .zero)
    #expect(pace.wait(at: start + .seconds(60)) == .zero)
  }

  @Test func `of many times that something may be published, four a second are`() {
    var pace = Pace(every: .milliseconds(250))
    let due = (0..<2000).filter { pace.isDue(at: start + .milliseconds($0)) }
    #expect(due == [0, 250, 500, 750, 1000, 1250, 1500, 1750])
  }
}
