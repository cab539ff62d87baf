import Testing

@testable import CloudSync

/// The next activity of a continuous sync.
struct OutlookTests {
  @Test(
    arguments: [
      (.rest(until: nil), false, .rest(until: nil), 50),
      (.rest(until: 40), false, .rest(until: 40), 40),
      (.rest(until: 60), false, .rest(until: 60), 50),
      (.rest(until: nil), true, .held(until: nil), nil),
      (.rest(until: 60), true, .held(until: 60), 60),
      (.noteBlockers([1]), false, .work, 50),
      (.noteBlockers([1]), true, .work, 50),
    ] as [(Step, Bool, Outlook, Int64?)]
  )
  func `an engine works, waits for the next poll or for the end of a wait`(
    plan: Step,
    isHeld: Bool,
    expected: Outlook,
    end: Int64?
  ) {
    let outlook = Outlook(plan, isHeld: isHeld)

    #expect(outlook == expected)
    #expect(outlook.end(nextPoll: 50) == end)
  }
}
