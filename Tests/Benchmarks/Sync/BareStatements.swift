import CloudSync
import Foundation
import GRDB

/// The statements of one call on a store, taken down as they ran, to be run again through GRDB alone.
struct BareStatements {
  private struct Step {
    var sql: String
    var arguments: [DatabaseValue]
  }

  private var steps: [Step] = []

  /// Takes down what `body` has the writing connection do.
  init(of storage: SQLiteStorage, _ body: () throws -> Void) throws {
    let seen = Seen()
    storage.writer.writeWithoutTransaction { database in
      database.trace { event in
        guard case .statement(let statement) = event else { return }
        seen.add(statement.sql, statement.expandedSQL)
      }
    }
    try body()
    storage.writer.writeWithoutTransaction { $0.trace(nil) }
    steps = seen.all.filter { !Self.isAround($0.sql) }.map { Step(sql: $0.sql, arguments: Self.values($0)) }
  }

  /// What frames the statements, and what triggers do by themselves: SQLite tells that as comments.
  private static func isAround(_ sql: String) -> Bool {
    ["BEGIN", "COMMIT", "PRAGMA", "SAVEPOINT", "RELEASE", "--"].contains { sql.hasPrefix($0) }
  }

  /// Runs them in one transaction, with other names.
  ///
  /// - Parameter rename: what stands for a text of the call that was taken down.
  func run(on writer: any DatabaseWriter, _ rename: (String) -> String) throws {
    try writer.write { database in
      for step in steps {
        let statement = try database.cachedStatement(sql: step.sql)
        let arguments = StatementArguments(
          step.arguments.map { value in String.fromDatabaseValue(value).map { rename($0).databaseValue } ?? value }
        )
        if statement.isReadonly {
          _ = try Row.fetchAll(statement, arguments: arguments)
        } else {
          try statement.execute(arguments: arguments)
        }
      }
    }
  }

  /// The values that SQLite put in place of the question marks.
  private static func values(_ seen: (sql: String, expanded: String)) -> [DatabaseValue] {
    let pieces = seen.sql.split(separator: "?", omittingEmptySubsequences: false)
    var rest = Substring(seen.expanded).dropFirst(pieces[0].count)
    return pieces.dropFirst().map { piece in
      let end = literalEnd(rest)
      defer { rest = rest[end...].dropFirst(piece.count) }
      let literal = rest[..<end]
      if literal == "NULL" { return .null }
      guard literal.hasPrefix("'") else {
        return Int64(literal)?.databaseValue ?? Double(literal)?.databaseValue ?? .null
      }
      return String(literal.dropFirst().dropLast()).replacing("''", with: "'").databaseValue
    }
  }

  private static func literalEnd(_ text: Substring) -> Substring.Index {
    guard text.first == "'" else {
      return text.firstIndex { !($0.isLetter || $0.isNumber || "+-.".contains($0)) } ?? text.endIndex
    }
    var index = text.index(after: text.startIndex)
    while index < text.endIndex {
      let next = text.index(after: index)
      if text[index] == "'" {
        guard next < text.endIndex, text[next] == "'" else { return next }
        index = text.index(after: next)
      } else {
        index = next
      }
    }
    return index
  }

  /// Only the writing connection's queue adds to it, and nobody reads it meanwhile.
  private final class Seen: @unchecked Sendable {
    var all: [(sql: String, expanded: String)] = []
    func add(_ sql: String, _ expanded: String) { all.append((sql, expanded)) }
  }
}
