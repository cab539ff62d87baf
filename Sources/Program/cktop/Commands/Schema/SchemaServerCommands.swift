import ArgumentParser
import CloudKit
import CloudKitSchema
import CloudSync
import Facts
import Foundation
import JSONText

/// `cktop schema export`.
struct SchemaExport: Verb {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Print the schema of the container on a server that cktop serve --admin runs.",
    discussion: """
      --environment chooses development or production. A server with an admin token needs CKTOP_ADMIN_TOKEN. For Apple's \
      server use cktool export-schema.
      """
  )

  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    OutputFile.standard.write(try await SchemaServer(session).schema().description)
  }
}

/// `cktop schema import`.
struct SchemaImport: ChangingVerb {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Replace the schema of the container on a server that cktop serve --admin runs.",
    discussion: """
      Shows what changes and asks for confirmation on a terminal; elsewhere --yes is required. The file replaces the \
      schema: indexes and grants that it lacks are removed. Production refuses to remove types and fields. --environment \
      chooses the one schema that changes. For Apple's server use cktool import-schema.
      """
  )

  @Argument(help: ArgumentHelp("The schema.", valueName: "file"), completion: .file(), transform: String.path)
  var file: String
  @Flag(help: "Show what would change, and change nothing.") var dryRun = false
  @Flag(help: "Do not ask for confirmation.") var yes = false
  @Flag(help: .json("Print one JSON object per change.", CKSchema.Change.shape)) var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    if !dryRun {
      try session.refuseIfReadOnly()
      try Confirmation.needAnswer(yes, "schema import replaces the server's schema", preview: ", or --dry-run to look")
    }
    let source = try SchemaFile(file)
    let server = try SchemaServer(session)
    let changes = try await server.schema().changes(to: source.schema())
    changes.print(json: json)
    if server.environment == "production" { try changes.endIfRefused() }
    guard !dryRun, !changes.isEmpty else { return }
    guard yes || Confirmation.ask("Replace the \(server.environment) schema of \(server.container)?".visible) else {
      return
    }
    try await server.replace(with: source)
  }
}

/// The schema of a container on a server with an admin endpoint.
struct SchemaServer {
  let container: String
  let environment: String
  private let url: URL
  private let transport: CKHTTPTransport
  private let headers: [CKHTTPHeader]

  init(_ session: Session) throws {
    let settings = session.settings
    guard settings.url.source != .standard else {
      throw CommandFailure.usage(
        "only a server of cktop serve --admin gives its schema; name it with --url, or use cktool for Apple's server"
      )
    }
    let scope = try session.scope()
    (container, environment, url) = (scope.container, scope.environment, settings.url.value)
    transport = CKHTTPTransport(baseURL: url, allowsHTTP: settings.allowsHTTP)
    headers = ServeCommand.adminToken.map { [CKHTTPHeader("Authorization", "Bearer \($0)")] } ?? []
  }

  func schema() async throws -> CKSchema {
    let text = try await answer(to: "GET")
    do {
      return try CKSchema(parsing: text)
    } catch {
      throw CommandFailure(
        "the schema of \(url.absoluteString.excerpt) cannot be read: \(error); update cktop",
        .itemsFailed
      )
    }
  }

  func replace(with file: SchemaFile) async throws { _ = try await answer(to: "PUT", body: Data(file.text.utf8)) }

  private func answer(to method: String, body: Data = Data()) async throws -> String {
    let request = CKTransportRequest(
      method: method,
      path: "/emulator/schema",
      query: "container=\(container)&environment=\(environment)",
      headers: headers,
      body: body
    )
    let response: CKTransportResponse
    do throws(CKTransportError) {
      response = try await transport.send(request)
    } catch {
      let reason = error.message.withoutFullStop
      throw CommandFailure("\(url.absoluteString.excerpt) cannot be reached: \(reason); check --url", .cloudUnreachable)
    }
    let text = String(decoding: response.body, as: UTF8.self)
    guard response.status != 200 else { return text }
    let reason = (try? JSON(json: response.body))?.object?["error"]?.string
    switch (response.status, reason) {
    case (401, _), (403, _):
      throw CommandFailure(
        "\(url.absoluteString.excerpt) denied access; set CKTOP_ADMIN_TOKEN to its admin token",
        .personNeeded
      )
    case (400, let reason?):
      throw CommandFailure("the server refused the schema: \(reason); correct the schema", .itemsFailed)
    case (404, _):
      throw CommandFailure(
        "\(url.absoluteString.excerpt) has no admin endpoint; start cktop serve with --admin",
        .itemsFailed
      )
    default:
      let reply = "HTTP \(response.status)" + (reason.map { ": \($0)" } ?? "")
      throw CommandFailure("\(url.absoluteString.excerpt) replied \(reply); see the server's log", .itemsFailed)
    }
  }
}
