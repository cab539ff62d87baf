import ArgumentParser

/// `cktop help faults`: the page about plans of faults, reached like the help of a verb.
struct FaultsHelp: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "faults",
    abstract: "The TOML plan of cktop serve --faults: what goes wrong, and when.",
    usage: "cktop serve --faults FILE",
    discussion: """
      Rules are tried in order on each request. An equal seed replays a plan exactly. The request log names the rule \
      that struck; the admin endpoint counts them and takes another plan while the server runs (cktop help admin).

        seed = 7                            # for rules with a probability; default 1

        [[rules]]                           # every fifth modify is throttled for 3 s
        when = { operation = "records/modify", every = 5 }
        then = { action = "throttled", retryAfter = 3 }

        [[rules]]                           # this record is refused
        when = { recordName = "note-13" }
        then = "poison"

        [[rules]]                           # the first two answers are lost
        when = { operation = "records/modify", limit = 2 }
        then = "dropAfterCommit"

      WHEN: all that is given must hold, what is left out always holds.

        operation    records/modify, records/query, records/lookup, changes/zone, changes/database, zones/modify, ...;
                     upload and download of files, poll for notifications
        recordName   the name of a record that the request carries
        zone         the name of a zone that it speaks of; _defaultZone where it names none
        database     public, private or shared
        user         the name of the user whose web-auth token it carries
        after        let this many matching requests pass first
        every        of the matching requests only every Nth
        limit        strike at most so often
        probability  the chance from 0 to 1 that a matching request is struck

      THEN: a name, or a table with the name under action and its parameters beside it.

      How a request ends; of these the first that strikes is the only one:

        offline             there is no connection
        dropBeforeCommit    the connection closes before anything takes effect
        dropAfterCommit     the request takes effect and its answer is lost
        truncateAnswer      the request takes effect, the connection closes in the middle of the answer
        throttled           429 THROTTLED, with retryAfter seconds where given
        tryAgainLater       503 TRY_AGAIN_LATER, with retryAfter seconds where given
        internalError       500 INTERNAL_ERROR
        badGateway          502, or the 5xx under status, with a page of HTML, as a proxy answers
        tooLarge            413 with a page of HTML, as a proxy answers
        quotaExceeded       413 QUOTA_EXCEEDED
        authExpired         421 AUTHENTICATION_REQUIRED; for a server-to-server key 401

      What else happens to it; these add up:

        delay               the answer comes later, by the parameter milliseconds
        poison              the record named under when, or every record, is refused with BAD_REQUEST
        expiredToken        the sync tokens sent are refused as unknown
        emptyPageMoreComing a page without records says that more is coming; limit it
        stalledMarker       a page brings back the marker or token that was sent, and says that more is coming; limit it
        indexDelay          a query does not see what was written in the last milliseconds
        zonePurged          the private zones that the request speaks of are deleted first
        accountSwitched     the request, and whoever uses its new token, is the user under user (default: another)
      """,
    shouldDisplay: false
  )

  func run() async throws { throw CleanExit.helpRequest(self) }
}
