import Foundation
import TestSupport
import Testing

/// A machine with `cktop` on it: a home of its own, settings in its environment.
final class Machine: Sendable {
  static let container = "iCloud.org.example.Test"

  let folder: TemporaryFolder
  private let settings: [String: String]

  /// A machine of a user who is signed in.
  convenience init(_ cloud: Cloud, user: String = "ana", _ more: [String: String] = [:]) throws {
    let own = [
      "CLOUDKIT_URL": cloud.url, "CLOUDKIT_CONTAINER": Self.container, "CLOUDKIT_API_TOKEN": "any-api-token",
      "CLOUDKIT_WEB_AUTH_TOKEN": user,
    ]
    try self.init(own.merging(more) { $1 })
  }

  /// A machine with just these settings.
  init(_ settings: [String: String] = [:]) throws {
    folder = try TemporaryFolder()
    self.settings = settings
  }

  /// What a command of this machine finds in its environment.
  var environment: [String: String] { folder.environment.merging(settings) { $1 } }

  /// The end of a command.
  struct End {
    var status: Int32
    var output: String
    var error: String

    /// Standard output line by line, without empty ones.
    var lines: [String] { output.split(separator: "\n").map(String.init) }

    /// Standard output as objects, one a line.
    func objects() throws -> [[String: Any]] {
      try lines.map { line in
        try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "no object: \(line)")
      }
    }

    /// The one object on standard output.
    func object() throws -> [String: Any] {
      let objects = try objects()
      try #require(objects.count == 1, "\(output)\(error)")
      return objects[0]
    }
  }

  /// A command that a signal ended, which none may do.
  private struct Killed: Error {
    let arguments: [String]
    let end: Child.End
  }

  /// Runs a command to its end, its output going to files: a pipe that nobody reads would stop it.
  func run(_ arguments: String..., settings more: [String: String] = [:]) async throws -> End {
    try await run(list: arguments, settings: more)
  }

  /// Runs a command, given as a list, whatever its end is.
  func running(_ arguments: [String], settings more: [String: String] = [:]) async throws -> End {
    try await run(list: arguments, settings: more)
  }

  private func run(list arguments: [String], settings more: [String: String]) async throws -> End {
    let number = UUID().uuidString
    let (output, error) = (folder.path("\(number).out"), folder.path("\(number).err"))
    let process = try Child(
      Binary.cktop().path,
      arguments,
      environment: environment.merging(more) { $1 },
      in: folder.url.path,
      output: output,
      error: error
    )
    let end = await process.end()
    guard case .exited(let status) = end else { throw Killed(arguments: arguments, end: end) }
    return End(
      status: status,
      output: try String(contentsOfFile: output, encoding: .utf8),
      error: try String(contentsOfFile: error, encoding: .utf8)
    )
  }

  /// Runs a command that has to succeed.
  @discardableResult
  func succeed(
    _ arguments: String...,
    settings more: [String: String] = [:],
    at location: SourceLocation = #_sourceLocation
  ) async throws -> End {
    try await succeeding(arguments, settings: more, at: location)
  }

  /// Runs a command, given as a list, that has to succeed.
  func succeeding(
    _ arguments: [String],
    settings more: [String: String] = [:],
    at location: SourceLocation = #_sourceLocation
  ) async throws -> End {
    let end = try await run(list: arguments, settings: more)
    try #require(end.status == 0, "\(arguments): \(end.error)", sourceLocation: location)
    return end
  }

  /// Runs a command that has to fail with one line on standard error.
  @discardableResult
  func fail(
    _ status: Int32,
    _ arguments: String...,
    settings more: [String: String] = [:],
    at location: SourceLocation = #_sourceLocation
  ) async throws -> String {
    try await failing(status, arguments, settings: more, at: location)
  }

  /// Runs a command, given as a list, that has to fail with one line on standard error.
  func failing(
    _ status: Int32,
    _ arguments: [String],
    settings more: [String: String] = [:],
    at location: SourceLocation = #_sourceLocation
  ) async throws -> String {
    let end = try await run(list: arguments, settings: more)
    #expect(end.status == status, "\(arguments): \(end.error)", sourceLocation: location)
    let lines = end.error.split(separator: "\n")
    #expect(lines.count == 1, "\(end.error)", sourceLocation: location)
    let line = String(lines.first ?? "")
    #expect(line.hasPrefix("cktop: ") && line.contains("; "), "\(line)", sourceLocation: location)
    return line
  }
}
