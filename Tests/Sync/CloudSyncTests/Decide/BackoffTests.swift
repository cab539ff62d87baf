import CloudSync
import Testing

@Suite(.serialized) struct BackoffTests {
  @Test func `own back-off doubles from half a second to five minutes`() {
    let shortest = (1...12).map { Backoff.seconds(afterAttempt: $0, random: 0) }

    #expect(shortest == [0.5, 1, 2, 4, 8, 16, 32, 64, 128, 150, 150, 150])
    #expect(Backoff.seconds(afterAttempt: 0, random: 0) == 0.5)
    #expect(Backoff.seconds(afterAttempt: .max, random: 0) == 150)
  }

  @Test func `own back-off spreads over the upper half`() {
    for attempt in 1...20 {
      let shortest = Backoff.seconds(afterAttempt: attempt, random: 0)

      #expect(Backoff.seconds(afterAttempt: attempt, random: 1) == shortest * 2)
    }
  }

  @Test(arguments: [0.5, 1, 30, 110_207, 1e9])
  func `a server's wait is honoured up to a day, and stretched by a tenth at most`(_ asked: Double) {
    for random in [0, 0.25, 0.999_999] {
      let wait = Backoff.scopeSeconds(asked: asked, previous: nil, random: random)

      #expect(wait >= min(asked, 86_400))
      #expect(wait <= min(asked * 1.1, 86_400))
    }
  }

  @Test func `a server that repeats itself is asked half as often each time, up to an hour above its word`() {
    var previous: Double?
    var waits: [Double] = []
    for _ in 0..<9 {
      let wait = Backoff.scopeSeconds(asked: 30, previous: previous, random: 0)
      waits.append(wait)
      previous = wait
    }

    #expect(waits == [30, 60, 120, 240, 480, 960, 1920, 3630, 3630])
  }

  @Test func `a server that repeats itself about one operation is asked half as often, too`() {
    let waits = (1...9).map { Backoff.seconds(asked: 30, attempt: $0) }

    #expect(waits == [30, 60, 120, 240, 480, 960, 1920, 3630, 3630])
    #expect(Backoff.seconds(asked: 0, attempt: 5) == 0)
    #expect(Backoff.seconds(asked: .infinity, attempt: .max) == 315_360_000 + 3600)
  }

  @Test func `without a word of the server the wait grows from one second to five minutes`() {
    var previous: Double?
    var waits: [Double] = []
    for _ in 0..<11 {
      let wait = Backoff.scopeSeconds(asked: nil, previous: previous, random: 0)
      waits.append(wait)
      previous = wait
    }

    #expect(waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300])
  }

  @Test(arguments: [0, -5, -Double.infinity, .nan])
  func `a wait of nothing is taken for no word at all`(_ asked: Double) {
    #expect(Backoff.scopeSeconds(asked: asked, previous: nil, random: 0) == 1)
    #expect(Backoff.scopeSeconds(asked: asked, previous: 8, random: 0) == 16)
  }

  @Test(arguments: [Double.infinity, .nan, 1e300, -5, -.infinity])
  func `a number that is no wait does not break the clock`(_ asked: Double) {
    let wait = Backoff.scopeSeconds(asked: asked, previous: nil, random: 0.5)

    #expect(Backoff.milliseconds(wait) >= 0)
    #expect(Backoff.milliseconds(wait) <= 86_400_000)
    #expect(Backoff.milliseconds(asked) >= 0)
  }

  @Test func `milliseconds round up`() {
    #expect(Backoff.milliseconds(0.000_1) == 1)
    #expect(Backoff.milliseconds(1) == 1000)
    #expect(Backoff.milliseconds(80_207) == 80_207_000)
  }
}
