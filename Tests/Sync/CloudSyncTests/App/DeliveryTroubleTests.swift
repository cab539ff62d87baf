import Testing

@testable import CloudSync

/// Which part of what came an app is asked to take next, and when.
@Suite(.serialized) struct DeliveryTroubleTests {
  @Test func `what is refused is tried whole once more, then in parts, and in the end set aside`() {
    var trouble = DeliveryTrouble()
    var limits: [Int] = []
    var goesOn: [Bool] = []
    for number in 0..<6 {
      limits.append(trouble.limit)
      goesOn.append(trouble.refuse([Int64(number)], "no", now: 0, random: 0))
    }

    #expect(limits == [200, 200, 50, 12, 3, 1])
    #expect(goesOn == [false, false, false, false, false, true])
    #expect(trouble.setAside == [5] && trouble.limit == 200)
    #expect(trouble.retryAt == 8_000)
  }

  @Test func `where others were taken, the one is searched for at once`() {
    var trouble = DeliveryTrouble()
    for _ in 0..<4 { _ = trouble.refuse([1], "no", now: 0, random: 0) }
    #expect(trouble.limit == 3)

    trouble.take()

    #expect(trouble.limit == 12)
    let goesOn = trouble.refuse([1], "no", now: 0, random: 0)
    #expect(goesOn)
  }

  @Test func `what is set aside is tried again alone, and ever more seldom`() {
    var trouble = DeliveryTrouble()
    for _ in 0..<6 { _ = trouble.refuse([1], "no", now: 0, random: 0) }
    var waits: [Int64] = []
    for _ in 0..<6 {
      let due = trouble.retryAt ?? 0
      #expect(trouble.seen(at: due - 1) == trouble)
      trouble = trouble.seen(at: due)
      #expect(!trouble.isAside && trouble.limit == 1)
      _ = trouble.refuse([1], "no", now: due, random: 0)
      waits.append((trouble.retryAt ?? 0) - due)
    }

    #expect(waits == [16_000, 32_000, 64_000, 128_000, 150_000, 150_000])
  }

  @Test func `an app that takes nothing at all is not asked without end`() {
    var trouble = DeliveryTrouble()
    for _ in 0..<6 { _ = trouble.refuse([0], "no", now: 0, random: 0) }
    var calls = 0
    repeat { calls += 1 } while trouble.refuse([Int64(calls)], "no", now: 0, random: 0) && calls < 10_000

    #expect(calls < 100)
    #expect(trouble.nextAt >= 150_000)
  }

  @Test func `nothing is looked at before its time, nor after it`() {
    var trouble = DeliveryTrouble()
    #expect(trouble.next(after: 0) == nil)
    _ = trouble.refuse([1], "no", now: 1_000, random: 0)
    #expect(trouble.next(after: 1_000) == 1_500)
    #expect(trouble.next(after: 1_500) == nil)
    for _ in 0..<5 { _ = trouble.refuse([1], "no", now: 2_000, random: 0) }
    #expect(trouble.next(after: 2_000) == trouble.retryAt)
  }

  @Test func `more than some thousand are not set aside`() {
    var trouble = DeliveryTrouble()
    trouble.put(aside: (0..<5_000).map(Int64.init), now: 0, random: 0)
    #expect(!trouble.hasRoom)
    for _ in 0..<5 { _ = trouble.refuse([-1], "no", now: 0, random: 0) }

    let goesOn = trouble.refuse([-1], "no", now: 0, random: 0)
    #expect(!goesOn)
    #expect(!trouble.setAside.contains(-1) && trouble.nextAt > 0)
  }
}
