import ArgumentParser

/// `cktop help admin`: the help page for the admin endpoint.
struct AdminHelp: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "admin",
    abstract: "The endpoint of cktop serve --admin: inspect state, move the clock, inject faults.",
    usage: "cktop serve --admin",
    discussion: """
      With U for the URL that cktop serve prints:

        curl $U/emulator                 lists all requests
        curl $U/emulator/state           all databases, zones and records as text: equal states give equal texts
        curl $U/emulator/statistics      requests, outcomes, records, and how often each fault rule applied
        curl $U/emulator/faults          the fault plan as JSON (see cktop help faults)
        curl -X PUT $U/emulator/faults -d '{"rules": [{"when": {"operation": "records/modify"}, "then": "offline"}]}'
        curl $U/emulator/advance -d '{"seconds": 3600}'      moves the clock 1 h ahead: tokens and URLs expire
        curl $U/emulator/offline -d '{"offline": true}'      closes every connection without a reply; false ends it
        curl $U/emulator/throttle -d '{"seconds": 15}'       answers THROTTLED for that long; 0 ends it
        curl "$U/emulator/schema?container=ID"               the schema in CloudKit's language; &environment=production
        curl -T app.ckdb "$U/emulator/schema?container=ID"   replaces it, as cktool import-schema does
        curl -X POST "$U/emulator/deploy?container=ID"       deploys it to production
        curl $U/emulator/snapshot -d '{"name": "empty"}'     saves the whole state under a name until the server ends
        curl $U/emulator/restore -d '{"name": "empty"}'      restores it
        curl -X DELETE "$U/emulator/snapshot?name=empty"     deletes the snapshot

      An error is returned as {"error": "..."} on one line.

      Without a token, only programs on this machine have access, and no web page does. If CKTOP_ADMIN_TOKEN is set \
      when cktop serve starts, every request needs the header "Authorization: Bearer TOKEN"; with --host it must be set.
      """,
    shouldDisplay: false
  )

  func run() async throws { throw CleanExit.helpRequest(self) }
}
