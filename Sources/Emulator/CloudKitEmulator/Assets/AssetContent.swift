import Foundation

/// The bytes of a file, read in pieces so that they need not all be in memory.
struct AssetContent: Sendable {
  /// The size of a piece in bytes; the last piece may be shorter.
  static let pieceSize = 1 << 20

  private enum Source: Sendable {
    case memory(Data)
    case spool(Spool)
  }

  private let source: Source
  private let range: Range<Int>

  init(_ bytes: Data) {
    self.init(.memory(bytes), 0..<bytes.count)
  }

  /// Reads the body of a request.
  init(_ request: EmulatorRequest) {
    if let spool = request.spool {
      self.init(.spool(spool), 0..<spool.count)
    } else {
      self.init(request.body)
    }
  }

  private init(_ source: Source, _ range: Range<Int>) {
    (self.source, self.range) = (source, range)
  }

  var count: Int { range.count }

  var pieces: Int { Self.pieces(of: count) }

  static func pieces(of count: Int) -> Int { count / pieceSize + (count % pieceSize > 0 ? 1 : 0) }

  func piece(_ number: Int) throws(Spool.Failure) -> Data {
    guard (0..<pieces).contains(number) else { return Data() }
    let start = range.lowerBound + number * Self.pieceSize
    let piece = start..<min(start + Self.pieceSize, range.upperBound)
    switch source {
    case .memory(let data): return data.dropFirst(piece.lowerBound).prefix(piece.count)
    case .spool(let spool): return try spool.bytes(piece)
    }
  }

  /// Returns the content of a part of a form; `nil` if the form has no such part.
  func part(named name: String, of form: MultipartForm) throws(Spool.Failure) -> AssetContent? {
    let whole: Data
    switch source {
    case .memory(let data): whole = data
    case .spool(let spool): whole = try spool.mapped()
    }
    guard let part = form.part(named: name, of: whole) else { return nil }
    let start = part.startIndex - whole.startIndex
    return AssetContent(source, start..<start + part.count)
  }
}
