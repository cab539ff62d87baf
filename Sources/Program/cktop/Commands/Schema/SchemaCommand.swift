import ArgumentParser
import CloudKitSchema
import CloudSync
import Facts
import Foundation

/// `cktop schema`.
struct SchemaCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "schema",
    abstract: "Check, infer and compare schemas (.ckdb).",
    discussion: """
      A schema file is what cktool export-schema, CloudKit Console and 'cktop schema export' write. FILE can be - for \
      standard input. In development the server adds types and fields when records are saved. In production it refuses \
      records and queries that the deployed schema does not have: check finds them before they are sent.

        cktop schema infer > schema.ckdb      the schema that the data here needs
        cktop schema check production.ckdb    what production would refuse
        cktop schema diff old.ckdb new.ckdb   what changes
      """,
    subcommands: [
      SchemaCheck.self, SchemaInfer.self, SchemaDiff.self, SchemaFormat.self, SchemaValidate.self, SchemaExport.self,
      SchemaImport.self,
    ]
  )
}

/// `cktop schema check`.
struct SchemaCheck: Verb {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Find what a server with a schema would refuse of the local copy, the queue and the polled queries.",
    discussion: """
      Compares record types, fields, types of values and the indexes that queries need. Without FILE, the schema is that \
      of 'cktop schema export'. With a second file, such as one that an app prints of its models, that schema is compared \
      and no store is read. The exit code is 1 if anything would be refused; the lines to add are printed then. With \
      --json, lines has the schema lines for one problem, and operations the first unsent changes that have it.
      """
  )

  @Argument(
    help: ArgumentHelp("The server's schema.", valueName: "file"),
    completion: .file(),
    transform: String.path
  )
  var file: String?
  @Argument(
    help: ArgumentHelp("The schema of what would be sent; default: the store's data.", valueName: "sent"),
    completion: .file(),
    transform: String.path
  )
  var sent: String?
  @Flag(help: .json("Print one JSON object per problem.", SchemaProblem.shape)) var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    let sentSchema = try sent.map { try SchemaFile($0).schema() }
    let store = sentSchema == nil ? try session.storeToRead() : nil
    let schema =
      if let file { try SchemaFile(file).schema() } else { try await SchemaServer(session).schema() }
    let usage = try sentSchema.map(CKSchema.Usage.init) ?? store?.schemaUsage() ?? CKSchema.Usage()
    let problems = schema.problems(of: usage)
    for problem in problems {
      let operations = try problem.count.changes == 0 ? [] : store?.saves(with: problem, limit: 100) ?? []
      if json {
        let lines = schema.additions(for: usage.only(problem.type, field: problem.field))
        OutputFile.standard.line(SchemaProblem(problem: problem, operations: operations, lines: lines).json.line)
      } else {
        OutputFile.standard.line("\(problem)\(Self.text(operations, of: problem.count.changes))".visible)
      }
    }
    let lines = schema.additions(for: usage)
    if !json, let lines { OutputFile.standard.write("\nAdd to the schema:\n\n\(lines)") }
    guard !problems.isEmpty else {
      if !json { OutputFile.standard.line("The schema has everything that \(sent ?? "this machine") uses".visible) }
      return
    }
    let advice = [
      lines == nil ? nil : "add the lines to the schema and deploy it",
      problems.contains { $0.kind == .otherType } ? "correct the values, because a field keeps its type" : nil,
      problems.contains { $0.kind == .invalidName } ? "rename what has an invalid name" : nil,
    ]
    let known = advice.compactMap(\.self)
    let text = known.isEmpty ? "types of CloudKit's own take no other fields" : known.joined(separator: "; ")
    OutputFile.error.line("cktop: \(Words.count(problems.count, "problem")); \(text)")
    try CommandStatus.itemsFailed.end()
  }

  private static func text(_ operations: [Int64], of count: Int) -> String {
    guard !operations.isEmpty else { return "" }
    let shown = operations.prefix(5).map(String.init).joined(separator: ", ")
    let rest = count > 5 ? " and \(count - 5) more" : ""
    return " (operation\(operations.count == 1 ? "" : "s") \(shown)\(rest))"
  }
}

/// A problem with the schema lines for it and the first unsent changes that have it.
struct SchemaProblem: PrintedObject {
  let problem: CKSchema.Problem
  let operations: [Int64]
  let lines: String?

  static let jsonFields: JSONFields<Self> = [
    "problem": .text(\.problem.kind.rawValue), "type": .text(\.problem.type), "field": .text(\.problem.field),
    "declared": .text(\.problem.declared), "needed": .text(\.problem.needed),
    "records": .integer(\.problem.count.records), "changes": .integer(\.problem.count.changes),
    "operations": .integers(\.operations), "lines": .text(\.lines), "text": .text(\.problem.description),
  ]
}

/// `cktop schema infer`.
struct SchemaInfer: Verb {
  static let configuration = CommandConfiguration(
    commandName: "infer",
    abstract: "Print the schema that the local copy, the queue and the polled queries need.",
    discussion: """
      Comments state how many records and unsent changes have a field, and other types that were seen. Fields have the \
      indexes that the polled queries need, and types the grants that CloudKit Console gives new ones.
      """
  )

  @Option(help: "Only this record type.", completion: .recordTypes) var type: String?
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    let usage = try session.storeToRead().schemaUsage(of: type)
    if let type, usage.types.isEmpty {
      throw CommandFailure(
        "there are no records and changes of type \(type); cktop status shows the types that are known",
        .itemsFailed
      )
    }
    OutputFile.standard.write("\(usage.schema)")
  }
}

/// `cktop schema diff`.
struct SchemaDiff: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "diff",
    abstract: "Show what changes from one schema to another, and what production refuses of it.",
    discussion: """
      Production never removes record types and fields, and never changes the type of a field. Indexes and grants may \
      change. The exit code is 1 if production refuses a change.
      """
  )

  @Argument(help: ArgumentHelp("The old schema.", valueName: "old"), completion: .file(), transform: String.path)
  var old: String
  @Argument(help: ArgumentHelp("The new schema.", valueName: "new"), completion: .file(), transform: String.path)
  var new: String
  @Flag(help: .json("Print one JSON object per change.", CKSchema.Change.shape)) var json = false

  func run() async throws {
    let changes = try SchemaFile(old).schema().changes(to: SchemaFile(new).schema())
    changes.print(json: json)
    try changes.endIfRefused()
  }
}

extension [CKSchema.Change] {
  func print(json: Bool) {
    for change in self { OutputFile.standard.line(json ? change.json.line : change.description.visible) }
    if isEmpty, !json { OutputFile.standard.line("No differences") }
  }

  /// Ends with exit code 1 if production refuses a change.
  func endIfRefused() throws {
    let refused = filter(\.isRefused).count
    guard refused > 0 else { return }
    OutputFile.error.line(
      "cktop: production refuses \(Words.count(refused, "change")); keep deployed types and fields"
    )
    try CommandStatus.itemsFailed.end()
  }
}

extension CKSchema.Change: PrintedObject {
  static let jsonFields: JSONFields<Self> = [
    "change": .text(\.kind.rawValue), "type": .text(\.type), "field": .text(\.field), "role": .text(\.role),
    "from": .text(\.from), "to": .text(\.to), "refused": .bool(\.isRefused), "text": .text(\.description),
  ]
}

/// `cktop schema format`.
struct SchemaFormat: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "format",
    abstract: "Print a schema in the canonical layout; comments and order are kept."
  )

  @Argument(help: ArgumentHelp("The schema.", valueName: "file"), completion: .file(), transform: String.path)
  var file: String

  func run() async throws { OutputFile.standard.write(try SchemaFile(file).schema().formatted) }
}

/// `cktop schema validate`.
struct SchemaValidate: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "validate",
    abstract: "Check that a file is a schema; the first error is named with line and column."
  )

  @Argument(help: ArgumentHelp("The schema.", valueName: "file"), completion: .file(), transform: String.path)
  var file: String

  func run() async throws {
    let source = try SchemaFile(file)
    let schema = try source.schema(orEnd: .itemsFailed)
    let fields = schema.types.values.reduce(0) { $0 + $1.fields.count }
    let counts = "\(Words.count(schema.types.count, "record type")), \(Words.count(fields, "field"))"
    OutputFile.standard.line("\(source.name) is valid: \(counts)".visible)
  }
}

/// A schema file, read as a whole.
struct SchemaFile {
  /// The file's name in messages.
  let name: String
  let text: String

  /// - Parameter path: `-` is standard input.
  init(_ path: String) throws(CommandFailure) {
    name = path == "-" ? "standard input" : path
    let bytes =
      try? (path == "-" ? FileHandle.standardInput : FileHandle(forReadingFrom: URL(fileURLWithPath: path)))
      // One byte more than the parser takes, so that an endless file ends too.
      .read(upToCount: CKSchema.sizeLimit + 1) ?? Data()
    guard let bytes, let text = String(validating: bytes, as: UTF8.self) else {
      guard path != "-" else { throw .usage("standard input is not text in UTF-8; name a schema file") }
      throw .cannotRead(path, remedy: "give a file that cktool export-schema or cktop schema export wrote")
    }
    // Editors on Windows begin a text with a byte order mark.
    self.text = text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
  }

  /// - Parameter status: the exit code for a text that is not a schema.
  func schema(orEnd status: CommandStatus = .usage) throws(CommandFailure) -> CKSchema {
    do {
      return try CKSchema(parsing: text)
    } catch {
      throw CommandFailure("\(name): \(error); correct the schema", status)
    }
  }
}
