import CloudSync

/// A note about a zone that the store does not know, in case its name is misspelled.
enum ZoneNote {
  static func report(_ zone: String, _ effect: String) {
    OutputFile.error.line("cktop: no zone \(zone) is known locally; \(effect)".visible)
  }

  /// Reports that a change is in a zone that the next sync will create.
  static func reportCreated(_ zone: ZoneKey) {
    report(zone.zone, "the next sync creates it if the server has none")
  }
}

/// A note on standard error about a type or field that no local record has, in case its name is misspelled.
enum UnknownNote {
  static func report(_ sentence: String, _ kind: String, known: some Sequence<String>) {
    let names = known.sorted().joined(separator: ", ")
    OutputFile.error.line("cktop: \(sentence)\(names.isEmpty ? "" : "; the \(kind) are \(names)")".visible)
  }
}
