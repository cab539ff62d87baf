/// The ranges, counted in characters, in which two texts differ: all between the beginning and the end that they share.
///
/// Only the first 2,000 characters are looked at, so that a long value costs no more than a short one.
package func differing(_ a: String, _ b: String) -> (Range<Int>, Range<Int>) {
  let bound = 2000
  let (first, second) = (Array(a.prefix(bound + 1)), Array(b.prefix(bound + 1)))
  let (left, right) = (first.prefix(bound), second.prefix(bound))
  let shortest = min(left.count, right.count)
  let start = zip(left, right).prefix { $0 == $1 }.count
  // The end of a longer text is not known.
  let isWhole = first.count <= bound && second.count <= bound
  let end = isWhole ? zip(left.reversed(), right.reversed()).prefix(shortest - start).prefix { $0 == $1 }.count : 0
  return (start..<left.count - end, start..<right.count - end)
}
