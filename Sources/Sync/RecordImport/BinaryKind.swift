/// A kind of file that has no records as text, which its first bytes show.
struct BinaryKind: Hashable {
  /// What the file is, and what to do.
  let text: String

  private static let all: [(start: [UInt8], text: String)] = [
    ([0x1F, 0x8B], "compressed by gzip; unpack it with gunzip"),
    ([0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00], "compressed by xz; unpack it with unxz"),
    ([0x28, 0xB5, 0x2F, 0xFD], "compressed by zstd; unpack it with unzstd"),
    (Array("BZh".utf8), "compressed by bzip2; unpack it with bunzip2"),
    ([0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1], "a spreadsheet or other document of Office; save it as CSV"),
    (Array("PK\u{3}\u{4}".utf8), "a ZIP archive; unpack it"),
    (Array("SQLite format 3\0".utf8), "an SQLite database; export its table as CSV"),
  ]

  /// Nil for any other file.
  init?(_ start: [UInt8]) {
    guard let kind = Self.all.first(where: { start.starts(with: $0.start) }) else { return nil }
    // A line of text may begin like a bzip2 file, whose fifth byte on is the number pi.
    if kind.start == Array("BZh".utf8), !start.dropFirst(4).starts(with: [0x31, 0x41, 0x59]) { return nil }
    // Spreadsheets are ZIP archives whose parts have these names.
    let parts = ["xl/", "application/vnd.oasis.opendocument.spreadsheet"].map { Array($0.utf8) }
    let isSheet = kind.start.starts(with: Array("PK".utf8)) && parts.contains { start.prefix(1 << 16).contains($0) }
    text = isSheet ? "a spreadsheet; save it as CSV" : kind.text
  }
}
