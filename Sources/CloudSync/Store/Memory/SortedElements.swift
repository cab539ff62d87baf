/// Distinct elements in ascending order, in pieces, so that one goes in or out without moving all others.
struct SortedElements<Element: Comparable>: Sequence {
  private static var pieceLimit: Int { 512 }

  /// None is empty.
  private var pieces: [[Element]] = []
  private(set) var count = 0

  var isEmpty: Bool { pieces.isEmpty }
  var first: Element? { pieces.first?.first }

  mutating func insert(_ element: Element) {
    guard let last = pieces.last?.last else {
      pieces.append([element])
      count = 1
      return
    }
    let piece = last < element ? pieces.count - 1 : pieceIndex(of: element)
    let place = Self.place(of: element, in: pieces[piece])
    guard place == pieces[piece].count || pieces[piece][place] != element else { return }
    pieces[piece].insert(element, at: place)
    count += 1
    if pieces[piece].count > Self.pieceLimit {
      let half = Array(pieces[piece].suffix(Self.pieceLimit / 2))
      pieces[piece].removeLast(half.count)
      pieces.insert(half, at: piece + 1)
    }
  }

  mutating func remove(_ element: Element) {
    guard !pieces.isEmpty else { return }
    let piece = pieceIndex(of: element)
    let place = Self.place(of: element, in: pieces[piece])
    guard place < pieces[piece].count, pieces[piece][place] == element else { return }
    pieces[piece].remove(at: place)
    count -= 1
    if pieces[piece].isEmpty { pieces.remove(at: piece) }
  }

  /// The smallest element above another.
  func first(above element: Element) -> Element? {
    guard !pieces.isEmpty else { return nil }
    for piece in pieces[pieceIndex(of: element)...] {
      if let last = piece.last, last > element {
        let place = Self.place(of: element, in: piece)
        return piece[place] == element ? piece[place + 1] : piece[place]
      }
    }
    return nil
  }

  func makeIterator() -> FlattenSequence<[[Element]]>.Iterator { pieces.joined().makeIterator() }

  /// The piece that has the element, if any has.
  private func pieceIndex(of element: Element) -> Int {
    var (low, high) = (0, pieces.count - 1)
    while low < high {
      let middle = (low + high) / 2
      if pieces[middle][pieces[middle].count - 1] < element { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Where the element is, or belongs.
  private static func place(of element: Element, in piece: [Element]) -> Int {
    var (low, high) = (0, piece.count)
    while low < high {
      let middle = (low + high) / 2
      if piece[middle] < element { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
