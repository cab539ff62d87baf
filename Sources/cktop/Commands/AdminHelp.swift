import ArgumentParser

/// `cktop help admin`: the page about the admin endpoint, reached like the help of a verb.
struct AdminHelp: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "admin",
    abstract: "The endpoint of cktop serve --admin: look inside, travel in time, break things.",
    usage: "cktop serve --admin",
    discussion: """
      With U for the URL that cktop serve prints:

        curl $U/emulator                 lists all of this
        curl $U/emulator/state           all databases, zones and records as text: equal states give equal texts
        curl $U/emulator/statistics      requests, outcomes, records, and how often each rule of faults struck
        curl $U/emulator/faults          the plan of faults as JSON (cktop help faults says what its words mean)
        curl -X PUT $U/emulator/faults -d '{"rules": [{"when": {"operation": "records/modify"}, "then": "offline"}]}'
        curl $U/emulator/advance -d '{"seconds": 3600}'      an hour passes: tokens and URLs expire
        curl $U/emulator/offline -d '{"offline": true}'      closes every connection unanswered; false ends it
        curl $U/emulator/throttle -d '{"seconds": 15}'       answers THROTTLED for so long; 0 ends it
        curl "$U/emulator/schema?container=ID"               the schema in CloudKit's language; environment=production too
        curl -T app.ckdb "$U/emulator/schema?container=ID"   replaces it, as cktool import-schema does
        curl -X POST "$U/emulator/deploy?container=ID"       deploys it to production
        curl $U/emulator/snapshot -d '{"name": "empty"}'     keeps the whole state under a name until the server ends
        curl $U/emulator/restore -d '{"name": "empty"}'      puts it back
        curl -X DELETE "$U/emulator/snapshot?name=empty"     forgets it

      A mistake is answered with {"error": "..."}, in one line.

      Without a token only programs on this machine get in, and no page in a browser. Set CKTOP_ADMIN_TOKEN before \
      cktop serve, and every request needs the header "Authorization: Bearer TOKEN"; with --host it must be set.
      """,
    shouldDisplay: false
  )

  func run() async throws { throw CleanExit.helpRequest(self) }
}
