import Foundation
import TestSupport
import Testing

@testable import cktop

/// The words that real shells offer at the end of a line, by the scripts that `cktop` prints for them.
@Suite(.serialized, .timeLimit(.minutes(40))) struct CompletionTests {
  /// A shell, and how it writes what it offers for `$LINE` to the file `$OFFERED`.
  enum Shell: String {
    case bash, zsh, fish

    /// Whether the shell is installed, and the terminal that an interactive one needs.
    var isInstalled: Bool {
      ([rawValue] + (self == .bash ? [] : ["script"])).allSatisfy { name in
        ["/usr/local/bin", "/usr/bin", "/bin"].contains {
          FileManager.default.isExecutableFile(atPath: "\($0)/\(name)")
        }
      }
    }

    /// The command that runs `driver`; the folder has it under `name`.
    func command(_ path: String) -> [String] {
      switch self {
      case .bash: ["bash", "--norc", "--noprofile", path]
      case .zsh: ["script", "-qec", "zsh -i", "/dev/null"]
      case .fish: ["script", "-qec", "fish --no-config -i -C 'source \"$DRIVER\"'", "/dev/null"]
      }
    }

    var name: String { self == .zsh ? ".zshrc" : "driver" }

    var driver: String {
      switch self {
      case .bash:
        """
        source "$SCRIPT"
        read -ra COMP_WORDS <<< "$LINE"
        [[ $LINE == *' ' ]] && COMP_WORDS+=('')
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        COMP_LINE=$LINE
        COMP_POINT=${#LINE}
        _cktop cktop "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
        printf '%s\\n' "${COMPREPLY[@]}" > "$OFFERED"
        """
      case .zsh:
        """
        autoload -Uz compinit
        compinit -u -D
        source "$SCRIPT"
        compdef _cktop cktop
        compadd() {
          local -a hits
          if (( ${@[(I)-[OAD]]} )); then builtin compadd "$@"; return; fi
          builtin compadd -A hits "$@"
          print -rl -- $hits >> "$OFFERED"
        }
        offer() {
          BUFFER=$LINE
          CURSOR=$#BUFFER
          zle complete-word
          exit
        }
        zle -N zle-line-init offer
        """
      case .fish:
        """
        source $SCRIPT
        function offer --on-event fish_prompt
            commandline -r -- $LINE
            complete -C > $OFFERED
            exit
        end
        """
      }
    }
  }

  private static let lines: [(line: String, offered: Set<String>)] = [
    ("sta", ["status"]), ("records import da", ["data.csv", "date.json"]), ("schema format sc", ["schema.ckdb"]),
    ("status --store so", ["some.sqlite"]), ("status --environment ", ["development", "production"]),
    ("status --database ", ["public", "private", "shared"]),
    ("sync --policy ", ["server", "client", "newest", "manual"]), ("status --profile ", ["live"]),
    ("records list --zone ", ["Home", "Work"]), ("records list --zone W", ["Work"]),
    ("records put --type ", ["Note", "Task"]), ("queue pause --type N", ["Note"]),
    // A store that does not exist.
    ("records list --container iCloud.none --zone ", []),
  ]

  private let machine: Machine

  init() async throws {
    machine = try Machine(["CLOUDKIT_CONTAINER": Machine.container, "CLOUDKIT_DATABASE": "private"])
    for folder in ["home", "bin", "config/cktop"] {
      let path = machine.folder.path(folder)
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
    for name in ["data.csv", "date.json", "schema.ckdb", "some.sqlite"] { _ = try machine.folder.write("", to: name) }
    _ = try machine.folder.write("[profiles.live]\n", to: "config/cktop/config.toml")
    let link = machine.folder.path("bin/cktop")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: Binary.cktop().path)
    try await machine.succeed("records", "put", "--type", "Task", "--zone", "Work", "a=1")
    try await machine.succeed("records", "put", "--type", "Note", "--zone", "Home", "a=1")
  }

  private func offered(by shell: Shell, _ line: String, _ script: String, _ driver: String) async throws -> Set<String>
  {
    let offered = machine.folder.path("offered")
    try? FileManager.default.removeItem(atPath: offered)
    let own = [
      "PATH": "\(machine.folder.path("bin")):\(machine.environment["PATH"] ?? "")", "SCRIPT": script, "DRIVER": driver,
      "LINE": "cktop \(line)", "OFFERED": offered, "ZDOTDIR": machine.folder.url.path,
    ]
    let command = shell.command(driver)
    let process = try Child(
      command[0],
      Array(command.dropFirst()),
      environment: machine.environment.merging(own) { $1 },
      in: machine.folder.url.path
    )
    _ = await process.end()
    let lines = (try? String(contentsOfFile: offered, encoding: .utf8))?.split(separator: "\n") ?? []
    // A description follows a tab.
    return Set(lines.map { String($0.prefix { $0 != "\t" }) })
  }

  private func check(_ shell: Shell) async throws {
    let text = try await machine.succeed("--generate-completion-script", shell.rawValue).output
    let script = try machine.folder.write(text, to: "completions")
    let driver = try machine.folder.write(shell.driver, to: shell.name)

    for (line, expected) in Self.lines {
      var found = try await offered(by: shell, line, script, driver)
      // A shell on a busy machine may have ended before it offered anything.
      for _ in 0..<3 where found.isEmpty && !expected.isEmpty {
        found = try await offered(by: shell, line, script, driver)
      }
      #expect(found == expected, "\(line)")
    }
  }

  @Test(.enabled(if: Shell.bash.isInstalled, "bash is not installed"))
  func `bash offers files, values, and names of the store`() async throws { try await check(.bash) }

  @Test(.enabled(if: Shell.zsh.isInstalled, "zsh is not installed"))
  func `zsh offers files, values, and names of the store`() async throws { try await check(.zsh) }

  @Test(.enabled(if: Shell.fish.isInstalled, "fish is not installed"))
  func `fish offers files, values, and names of the store`() async throws { try await check(.fish) }

  @Test func `the words of a line are those that a shell makes of them`() async throws {
    let store = machine.folder.path("a b'.sqlite")
    try await machine.succeed("records", "put", "--type", "Odd", "--zone", "Odd", "--store", store, "a=1")
    let settings = ["--container", Machine.container, "--database", "private"]
    let folder = machine.folder.url.path

    for words in [
      ["--store", "'\(folder)/a b'\\''.sqlite'"], ["--store=\"\(folder)/a b'.sqlite\""],
      ["--store", "=", "\(folder)/a\\ b\\'.sqlite"], ["--store=", "\"\(folder)/a b'.sqlite\""],
    ] {
      #expect(StoreCompletion(["cktop", "records", "list"] + settings + words + ["--type", ""]).types == ["Odd"])
    }
  }
}
