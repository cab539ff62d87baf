import ArgumentParser
import CloudKitEmulator

/// `cktop help admin`: the help page for the admin endpoint.
struct AdminHelp: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "admin",
    abstract: "The endpoint of cktop serve --admin: inspect state, move the clock, inject faults.",
    usage: "cktop serve --admin",
    discussion: """
        \(AdminEndpoint.overview.replacing("\n", with: "\n  "))

      With U for the URL that cktop serve prints:

        curl $U/emulator                                     lists all requests
        curl $U/emulator/advance -d '{"seconds": 3600}'      sends a body, with POST
        curl -X PUT $U/emulator/faults -d '{"rules": []}'    sends one with PUT
        curl -T app.ckdb "$U/emulator/schema?container=ID"   sends a file, as cktool import-schema does

      An error is returned as {"error": "..."} on one line.

      Without a token, only programs on this machine have access, and no web page does. If CKTOP_ADMIN_TOKEN is set \
      when cktop serve starts, every request needs the header "Authorization: Bearer TOKEN"; with --host it must be set.
      """,
    shouldDisplay: false
  )

  func run() async throws { throw CleanExit.helpRequest(self) }
}
