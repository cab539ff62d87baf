import CloudKit
import Facts
import Foundation
import TestSupport
import Testing

@testable import CloudKitSchema
@testable import CloudSync
@testable import Doctor

/// What `cktop doctor` concludes from what it saw. `RECORD_SNAPSHOTS=1` writes the sentences.
struct FindingTests {
  /// What was seen, in a few words, and the expected level of each check that is not ok.
  private typealias Case = (seen: String, findings: [Finding], levels: [Finding.Check: Finding.Level])

  private static let refusal = WebServicesError(.authenticationFailed, "no such token")

  private static let cases: [Case] = [
    ("good settings", ConfigurationObservation(settings: settings).findings, [:]),
    ("only defaults", ConfigurationObservation(settings: []).findings, [:]),
    (
      "a wrong setting",
      ConfigurationObservation(settings: settings, failures: [.usage("a is wrong; set b")]).findings,
      [.configuration: .problem]
    ),
    ("a key", CredentialObservation(name: "serverToServer").findings, [:]),
    ("a user's token", CredentialObservation(name: "webAuth").findings, [:]),
    ("an API token alone", CredentialObservation(name: "apiToken").findings, [.credential: .warning]),
    ("no credential", CredentialObservation().findings, [.credential: .problem]),
    (
      "a token that others can read", CredentialObservation(name: "webAuth", openFile: "/s/a.token").findings,
      [.credential: .problem]
    ),
    ("a good server", server { _ in }, [:]),
    (
      "a proxy",
      server { $0.route = ProxySettings(environment: ["https_proxy": "proxy:3128"]).route(to: $0.url) }, [:]
    ),
    (
      "a proxy that cannot be used",
      server { ($0.route, $0.reach, $0.greeting, $0.user) = (.unusable("https_proxy is no URL"), nil, nil, nil) },
      [
        .proxy: .problem, .name: .notTried, .connection: .notTried, .encryption: .notTried, .clock: .notTried,
        .account: .notTried, .container: .notTried,
      ]
    ),
    (
      "a name that is not found", unasked(.notFound("cloud.example.org was not found (DNS lookup failed).")),
      [
        .name: .problem, .connection: .notTried, .encryption: .notTried, .clock: .notTried, .account: .notTried,
        .container: .notTried, .write: .notTried,
      ]
    ),
    (
      "a closed port", unasked(.failed("cloud.example.org refused the connection.")),
      [
        .connection: .problem, .encryption: .notTried, .clock: .notTried, .account: .notTried, .container: .notTried,
        .write: .notTried,
      ]
    ),
    (
      "a certificate that is not valid",
      server { ($0.greeting, $0.user) = (.failed("cloud.example.org broke the connection."), nil) },
      [.encryption: .problem, .clock: .notTried, .account: .notTried, .container: .notTried]
    ),
    (
      "a server that does not reply, without TLS",
      server {
        $0.url = URL(string: "http://127.0.0.1:4711")!
        ($0.greeting, $0.user) = (.failed("No complete response from 127.0.0.1:4711 within 10.0 seconds."), nil)
      },
      [.connection: .problem, .clock: .notTried, .account: .notTried, .container: .notTried]
    ),
    (
      "http to another machine", server { $0.url = URL(string: "http://cloud.example.org")! }, [.encryption: .warning]
    ),
    ("a clock 2 minutes off", server { $0.greeting = .reply(clockAhead: 120) }, [.clock: .warning]),
    ("a clock 20 minutes off", server { $0.greeting = .reply(clockAhead: -1200) }, [.clock: .problem]),
    (
      "a clock 20 minutes off, and a key",
      server { ($0.greeting, $0.credential) = (.reply(clockAhead: 1200), "serverToServer") }, [.clock: .problem]
    ),
    ("a reply without a date", server { $0.greeting = .reply(clockAhead: nil) }, [.clock: .notTried]),
    (
      "a refused credential", server { ($0.user, $0.zones) = (.failure(refusal), nil) },
      [.account: .problem, .container: .notTried]
    ),
    (
      "no container", server { $0.zones = .failure(WebServicesError(.notFound, "no container")) },
      [.container: .problem]
    ),
    (
      "no credential, but a server", server { ($0.credential, $0.user) = (nil, nil) },
      [.account: .notTried, .container: .notTried]
    ),
    ("a write", server { $0.write = .done(leftovers: 0) }, [:]),
    ("a write after one that was killed", server { $0.write = .done(leftovers: 1) }, [:]),
    (
      "a refused write", server { $0.write = .failed(WebServicesError(.accessDenied, "no WRITE")) }, [.write: .problem]
    ),
    (
      "a zone that was left",
      server { $0.write = .left(zone: "cktop-doctor-1", WebServicesError(.internalError, "oops")) }, [.write: .problem]
    ),
    ("a good store", store { _ in }, [:]),
    (
      "no store", store { ($0.files, $0.content) = (nil, nil) },
      [
        .zones: .notTried, .store: .warning, .integrity: .notTried, .disk: .notTried, .log: .notTried,
        .owner: .notTried, .sync: .notTried, .process: .notTried,
      ]
    ),
    (
      "a store of another user",
      store { ($0.content, $0.failure) = (nil, CommandFailure("it cannot be read; use sudo", .storeUnusable)) },
      [
        .zones: .notTried, .store: .problem, .integrity: .notTried, .log: .notTried, .owner: .notTried,
        .sync: .notTried, .process: .notTried,
      ]
    ),
    (
      "a damaged store", store { $0.content?.fault = CommandFailure("it is damaged; restore a copy", .storeUnusable) },
      [.integrity: .problem]
    ),
    (
      "a full disk",
      store {
        $0.files?.freeBytes = 4096
        $0.files?.trouble = .full
        $0.content?.status.storageTrouble = .full
      }, [.disk: .problem]
    ),
    (
      "a read-only file system",
      store {
        $0.files?.trouble = .readOnly
        $0.content?.status.syncingProcess = holder(live: false)
        $0.content?.status.storageTrouble = .readOnly
        $0.content?.status.isStorageAwaited = true
      }, [.disk: .problem]
    ),
    (
      "a file system that is read-only for the syncing process alone",
      store { $0.content?.status.storageTrouble = .readOnly }, [.disk: .problem]
    ),
    (
      "a store that cannot be written",
      store { $0.content?.unwritable = CommandFailure("it cannot be written; check its rights", .storeUnusable) },
      [.disk: .problem]
    ),
    (
      "rows that cannot be read",
      store {
        $0.content?.damage.rows = 2
        $0.content?.damage.first = "operation 12 (not JSON)"
      }, [.integrity: .problem]
    ),
    (
      "rows that were set aside",
      store {
        $0.content?.damage.lost = 1
        $0.content?.damage.records = 3
        $0.content?.status.dropped.unseen = 1
      }, [.integrity: .problem, .sync: .warning]
    ),
    (
      "changes in the default zone of a shared database",
      store {
        $0.content?.database = .shared
        $0.content?.status.queue.total = 2
        $0.content?.status.queue.parts = [
          QueuePart(state: .pending, zone: .defaultZone, type: "Task", count: 2, bytes: 90)
        ]
      }, [.zones: .problem, .sync: .warning]
    ),
    (
      "polled types without indexes",
      store {
        $0.content?.status.rejectedQueries = [
          RejectedQuery(type: "Task", message: "Field 'recordName' is not marked queryable")
        ]
      }, [.sync: .problem]
    ),
    (
      "a credential of another user",
      store {
        $0.content?.status.identity = "_ana"
        $0.caller = "_ben"
      }, [.owner: .problem]
    ),
    (
      "an API token alone for a user's store",
      store {
        $0.content?.status.identity = "_ana"
        $0.caller = SyncStore.anonymous
      }, [.owner: .problem]
    ),
    ("a schema that has everything", store { $0.hasSchema = true }, [:]),
    (
      "a schema that lacks a field",
      store {
        $0.hasSchema = true
        $0.content?.refused = [CKSchema.Problem(kind: .missingField, type: "Task", field: "due", needed: "TIMESTAMP")]
      }, [.schema: .problem]
    ),
    (
      "a schema, but no store", store { ($0.files, $0.content, $0.hasSchema) = (nil, nil, true) },
      [
        .zones: .notTried, .schema: .notTried, .store: .warning, .integrity: .notTried, .disk: .notTried,
        .log: .notTried, .owner: .notTried, .sync: .notTried, .process: .notTried,
      ]
    ),
    ("little space", store { $0.files?.freeBytes = 99_000_000 }, [.disk: .warning]),
    ("a long log", store { $0.files?.logBytes = 65_000_000 }, [.log: .warning]),
    ("a store of another owner", store { $0.user = "root" }, [.owner: .warning]),
    ("a store that others can read", store { $0.files?.mode = 0o644 }, [.owner: .warning]),
    (
      "a stopped process whose lease has run out",
      store {
        $0.content?.status.syncingProcess = holder(leaseEndsAt: now - 20_000)
        $0.process = ProcessFacts(isStopped: true)
      }, [.process: .problem]
    ),
    (
      "a process that hangs",
      store { $0.content?.status.syncingProcess = holder(live: false, stalledSince: now - 20_000) },
      [.process: .problem]
    ),
    (
      "no process, and failed changes",
      store {
        $0.content?.status.syncingProcess = holder(live: false)
        $0.content?.status.queue.failed = 2
        $0.process = nil
      }, [.sync: .problem]
    ),
    (
      "no process since ten days",
      store {
        $0.content?.status.syncingProcess = nil
        $0.content?.status.lastSuccessAt = now - 864_000_000
        $0.process = nil
      }, [.sync: .warning]
    ),
    ("a good machine", machine { _ in }, [:]),
    ("many open files", machine { $0.syncing = .init(open: 900, limit: 1024) }, [.files: .warning]),
    ("no more watches", machine { $0.watches = .refused(errno: ENOSPC) }, [.watches: .warning]),
    ("no more watching processes", machine { $0.watches = .refused(errno: EMFILE) }, [.watches: .warning]),
    ("no terminal", machine { $0.screen = nil }, [.terminal: .notTried]),
    ("an unknown terminal", machine { $0.screen?.problem = unknownTerminal }, [.terminal: .warning]),
    (
      "a poor terminal",
      machine {
        $0.screen = .init(term: "vt100", columns: 80, rows: 20, isUTF8: false, colors: 0)
      },
      [.terminal: .warning]
    ),
    (
      "no colours by choice",
      machine {
        $0.screen?.colors = 0
        $0.screen?.isMonochrome = true
      }, [:]
    ),
  ]

  private static let settings = [ConfigurationObservation.Setting("container", source: "CLOUDKIT_CONTAINER")]

  private static let unknownTerminal =
    "there is no description of the terminal in TERM; install ncurses-base or set TERM to xterm, or use a subcommand "
    + "with --json"

  // MARK: - Tests

  @Test func `each observation is a finding of its level`() {
    for (seen, findings, levels) in Self.cases {
      let found = findings.filter { $0.level != .ok }.map { ($0.check, $0.level) }
      #expect(Dictionary(found) { $1 } == levels, "\(seen)")
      // A problem has an exit code, and says what to do.
      for finding in findings where finding.level == .problem {
        #expect(
          finding.status != .done && (finding.remedy != nil || finding.text.contains("; ")),
          "\(seen): \(finding)"
        )
      }
    }
  }

  @Test func `every check is among the observations, and every sentence is as it was reviewed`() throws {
    #expect(Set(Self.cases.flatMap { $0.findings.map(\.check) }) == Set(Finding.Check.allCases))
    let text = Self.cases.map { seen, findings, _ in
      ([seen + ":"] + findings.map(Self.line) + [DoctorReport(findings).summary]).joined(separator: "\n") + "\n"
    }
    .joined(separator: "\n")
    #expect(try text == recorded("Tests/Program/DoctorTests/Findings.txt", text))
  }

  /// A finding as a line of the reviewed file.
  private static func line(_ finding: Finding) -> String {
    let cells = [(finding.level.label, 11), (finding.check.rawValue, 15)]
    return cells.map { $0.padding(toLength: $1, withPad: " ", startingAt: 0) }.joined() + finding.sentence
  }
}
