extension Array where Element: Sendable {
  /// Returns the results of a call for each element, in order, with at most four calls running at the same time.
  package func concurrently<Result: Sendable>(
    _ call: @escaping @Sendable (Element) async -> Result
  ) async -> [Result] {
    await withTaskGroup(of: (Int, Result).self) { group in
      var results = [Result?](repeating: nil, count: count)
      for (index, element) in enumerated() {
        if index >= 4, let (done, result) = await group.next() { results[done] = result }
        group.addTask { (index, await call(element)) }
      }
      for await (done, result) in group { results[done] = result }
      return results.compactMap { $0 }
    }
  }
}
