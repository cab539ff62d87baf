/// A sorted set of values, stored in chunks. A change moves few elements, and copies only one chunk if a snapshot
/// shares the others.
struct SortedChunks<Element: Comparable> {
  /// The position of an element, or the end. Chunks are never empty.
  struct Position: Comparable {
    var chunk: Int
    var offset: Int

    static func < (left: Position, right: Position) -> Bool {
      (left.chunk, left.offset) < (right.chunk, right.offset)
    }
  }

  private static var chunkLimit: Int { 512 }

  private var chunks: [[Element]] = []

  init() {}

  init(sorted elements: [Element]) {
    chunks = stride(from: 0, to: elements.count, by: Self.chunkLimit).map {
      Array(elements[$0..<min(elements.count, $0 + Self.chunkLimit)])
    }
  }

  var start: Position { Position(chunk: 0, offset: 0) }
  var end: Position { Position(chunk: chunks.count, offset: 0) }

  subscript(position: Position) -> Element { chunks[position.chunk][position.offset] }

  func position(after position: Position) -> Position {
    position.offset + 1 < chunks[position.chunk].count
      ? Position(chunk: position.chunk, offset: position.offset + 1) : Position(chunk: position.chunk + 1, offset: 0)
  }

  func position(before position: Position) -> Position {
    position.offset > 0
      ? Position(chunk: position.chunk, offset: position.offset - 1)
      : Position(chunk: position.chunk - 1, offset: chunks[position.chunk - 1].count - 1)
  }

  /// Returns the number of elements between two positions.
  func count(_ range: Range<Position>) -> Int {
    let whole = chunks[range.lowerBound.chunk..<range.upperBound.chunk].reduce(0) { $0 + $1.count }
    return whole + range.upperBound.offset - range.lowerBound.offset
  }

  /// Returns the first position whose element meets the condition. All later elements must meet it too.
  func first(where isReached: (Element) -> Bool) -> Position {
    let chunk = Self.first(chunks.count) { isReached(chunks[$0][chunks[$0].count - 1]) }
    guard chunk < chunks.count else { return end }
    return Position(chunk: chunk, offset: Self.first(chunks[chunk].count) { isReached(chunks[chunk][$0]) })
  }

  private static func first(_ count: Int, where isReached: (Int) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if isReached(middle) { high = middle } else { low = middle + 1 }
    }
    return low
  }

  mutating func insert(_ element: Element) {
    let place = first { !($0 < element) }
    guard place != end else { return append(element) }
    guard self[place] != element else { return }
    chunks[place.chunk].insert(element, at: place.offset)
    guard chunks[place.chunk].count > Self.chunkLimit else { return }
    let half = Array(chunks[place.chunk][(Self.chunkLimit / 2)...])
    chunks[place.chunk].removeSubrange((Self.chunkLimit / 2)...)
    chunks.insert(half, at: place.chunk + 1)
  }

  private mutating func append(_ element: Element) {
    if chunks.isEmpty || chunks[chunks.count - 1].count >= Self.chunkLimit { chunks.append([]) }
    chunks[chunks.count - 1].append(element)
  }

  mutating func remove(_ element: Element) {
    let place = first { !($0 < element) }
    guard place != end, self[place] == element else { return }
    chunks[place.chunk].remove(at: place.offset)
    if chunks[place.chunk].isEmpty { chunks.remove(at: place.chunk) }
  }
}
