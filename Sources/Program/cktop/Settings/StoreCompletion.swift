import ArgumentParser
import CloudSync
import Foundation

extension CompletionKind {
  /// The names of the zones that the store knows.
  static var zones: CompletionKind { .custom { words, _, _ in StoreCompletion(words).zones } }
  /// The owners of these zones.
  static var zoneOwners: CompletionKind { .custom { words, _, _ in StoreCompletion(words).owners } }
  /// The record types of the local copy and the queue.
  static var recordTypes: CompletionKind { .custom { words, _, _ in StoreCompletion(words).types } }
  /// The profiles of the configuration file.
  static var profiles: CompletionKind { .custom { _, _, _ in StoreCompletion.profiles } }
  /// The themes that are built in, and the user's own.
  static var themes: CompletionKind { .custom { _, _, _ in OwnThemes().names } }
}

extension SettingKey {
  /// The values that a shell offers for the option.
  var completion: CompletionKind {
    switch (self, row.kind) {
    case (.profile, _): .profiles
    case (.theme, _): .themes
    case (_, .choice(let names)): .list(names)
    case (_, .path): .file()
    default: .default
    }
  }
}

/// The words that a shell offers, from the store that the words of the line so far name. There are none if it cannot be
/// read without asking anybody.
struct StoreCompletion {
  private let words: [String]

  /// - Parameter words: the words of the line, in which bash separates `=`.
  init(_ words: [String]) { self.words = Self.joined(words.map(Self.unquoted)) }

  var zones: [String] { Set(known.map(\.zone)).sorted() }

  /// The owners of the zones that the line names, else of all.
  var owners: [String] {
    let known = known.filter { !$0.owner.isEmpty }
    let named = known.filter { words.contains($0.zone) || words.contains("--zone=\($0.zone)") }
    return Set((named.isEmpty ? known : named).map(\.owner)).sorted()
  }

  var types: [String] { read { try $0.status().recordsByType.keys.sorted() } ?? [] }

  static var profiles: [String] {
    let file = try? ConfigurationFile.read(ProcessInfo.processInfo.environment)
    return file.map { $0.profiles.keys.sorted() } ?? []
  }

  private var known: [ZoneKey] { read { try $0.zones() }?.map(\.key) ?? [] }

  private func read<Value>(_ body: (StoreView) throws -> Value) -> Value? {
    guard let options = try? StoreOptions.parse(options), let session = try? Session(options) else { return nil }
    return try? session.storeToRead().view(body)
  }

  /// The options among the words that decide which store it is.
  private var options: [String] {
    let names = ["store", "profile", "container", "environment", "database"].map { "--\($0)" }
    var options: [String] = []
    for (word, next) in zip(words, words.dropFirst().map(Optional.some) + [nil]) {
      if names.contains(where: { word.hasPrefix("\($0)=") }) { options.append(word) }
      if names.contains(word), let next { options += [word, next] }
    }
    return options
  }

  /// A word without the quotes and backslashes of a shell, which passes it as it is written.
  private static func unquoted(_ word: String) -> String {
    var (result, quote, isEscaped) = ("", Character?.none, false)
    for character in word {
      if isEscaped {
        result.append(character)
        isEscaped = false
      } else if character == "\\", quote != "'" {
        isEscaped = true
      } else if character == quote {
        quote = nil
      } else if quote == nil, character == "'" || character == "\"" {
        quote = character
      } else {
        result.append(character)
      }
    }
    return result
  }

  /// The words with `--name`, `=` and a value as one.
  private static func joined(_ words: [String]) -> [String] {
    words.reduce(into: []) { joined, word in
      guard let last = joined.last, last.hasPrefix("--"), word == "=" || last.hasSuffix("=") else {
        return joined.append(word)
      }
      joined[joined.count - 1] += word
    }
  }
}
