import ArgumentParser

/// `cktop help faults`: the help page for fault plans.
struct FaultsHelp: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "faults",
    abstract: "The TOML fault plan of cktop serve --faults: what goes wrong, and when.",
    usage: "cktop serve --faults FILE",
    discussion: """
      Rules are tried in order on each request. The same seed replays a plan exactly. The request log names the rule \
      that applied; the admin endpoint counts them and accepts a new plan at run time (see cktop help admin).

        seed = 7                            # for rules with a probability; default 1

        [[rules]]                           # every fifth modify is throttled for 3 s
        when = { operation = "records/modify", every = 5 }
        then = { action = "throttled", retryAfter = 3 }

        [[rules]]                           # this record is rejected
        when = { recordName = "note-13" }
        then = "poison"

        [[rules]]                           # the first two replies are lost
        when = { operation = "records/modify", limit = 2 }
        then = "dropAfterCommit"

      WHEN: every condition given must hold; an omitted one always holds.

        operation    records/modify, records/query, records/lookup, changes/zone, changes/database, zones/modify, ...;
                     upload and download of files, poll for notifications
        recordName   the name of a record that the request carries
        zone         the name of a zone in the request; _defaultZone if it names none
        database     public, private or shared
        user         the name of the user of its web auth token
        after        skip this many matching requests first
        every        apply only to every Nth matching request
        limit        apply at most this many times
        probability  the probability from 0 to 1 that the rule applies to a match

      THEN: a name, or a table with the name as action, and its parameters.

      How a request ends; only the first of these that applies takes effect:

        offline             there is no connection
        dropBeforeCommit    the connection closes before anything takes effect
        dropAfterCommit     the request takes effect and its reply is lost
        truncateAnswer      the request takes effect, the connection closes in the middle of the reply
        throttled           429 THROTTLED, with retryAfter seconds if given
        tryAgainLater       503 TRY_AGAIN_LATER, with retryAfter seconds if given
        internalError       500 INTERNAL_ERROR
        badGateway          502, or the 5xx given as status, with an HTML page, as from a proxy
        tooLarge            413 with an HTML page, as from a proxy
        quotaExceeded       413 QUOTA_EXCEEDED
        authExpired         421 AUTHENTICATION_REQUIRED; for a server-to-server key 401

      What else happens to the request; these add up:

        delay               the reply is delayed by the parameter milliseconds
        poison              the record named in when, or every record, is rejected with BAD_REQUEST
        expiredToken        the sync tokens sent are rejected as unknown
        emptyPageMoreComing an empty page says that more is coming; set a limit
        stalledMarker       a page returns the marker or token that was sent and says that more is coming; set
                            a limit
        indexDelay          a query does not see writes of the last milliseconds
        zonePurged          the private zones in the request are deleted first
        accountSwitched     the request, and its new token, belong to the user given as user (default: another)
      """,
    shouldDisplay: false
  )

  func run() async throws { throw CleanExit.helpRequest(self) }
}
