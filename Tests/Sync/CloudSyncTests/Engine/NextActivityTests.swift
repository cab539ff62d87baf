import Testing

@testable import CloudSync

/// The next activity of a continuous sync.
struct NextActivityTests {
  @Test(
    arguments: [
      (.rest(until: nil), false, .rest(until: nil), 50),
      (.rest(until: 40), false, .rest(until: 40), 40),
      (.rest(until: 60), false, .rest(until: 60), 50),
      (.rest(until: 60), true, .work, 50),
      (.held(until: nil), true, .held(until: nil), nil),
      (.held(until: 60), false, .held(until: 60), 60),
      (.held(until: 60), true, .held(until: 60), 60),
      (.noteBlockers([1]), false, .work, 50),
      (.noteBlockers([1]), true, .work, 50),
    ] as [(Step, Bool, Outlook, Int64?)]
  )
  func `an engine works, waits for the next poll or for the end of a wait`(
    plan: Step,
    fetches: Bool,
    expected: Outlook,
    end: Int64?
  ) {
    let outlook = Outlook(plan, fetches: fetches)

    #expect(outlook == expected)
    #expect(outlook.end(nextPoll: 50) == end)
  }

  @Test(
    arguments: [
      (90, nil, nil, .standBy(until: 90)),
      (90, nil, 5_000, .standBy(until: 90)),
      (nil, 60, nil, .standBy(until: 60)),
      (nil, nil, nil, .standBy(until: nil)),
      (nil, 60, 0, .standBy(until: 3_050)),
      (nil, nil, 2_999, .standBy(until: 51)),
      (nil, 60, 3_000, .replaceHolder),
    ] as [(Int64?, Int64?, Int64?, Outlook)]
  )
  func `an engine stands by while another is busy or has nothing to do, and replaces one that leaves work undone`(
    leaseEnd: Int64?,
    wakesAt: Int64?,
    undoneFor: Int64?,
    expected: Outlook
  ) {
    #expect(Outlook(standingByUntil: leaseEnd, wakesAt: wakesAt, undoneFor: undoneFor, now: 50) == expected)
  }

  @Test(
    arguments: [
      (StoreError(.diskFull, "full", isTransient: true), .waitForStorage),
      (StoreError(.cannotOpen, "locked", isTransient: true), .waitForStorage),
      (StoreError(.fenced, "replaced"), .standBy(until: nil)),
      (StoreError(.otherUser, "of another user"), nil),
      (StoreError(.damaged, "damaged"), nil),
    ] as [(StoreError, Outlook?)]
  )
  func `an engine waits for the storage, stands by after it was replaced, and stops for any other error of the store`(
    error: StoreError,
    expected: Outlook?
  ) {
    #expect(Outlook(after: error) == expected)
  }
}
