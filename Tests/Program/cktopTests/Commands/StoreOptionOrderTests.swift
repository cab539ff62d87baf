import Testing

@testable import cktop

@Suite(.serialized) struct StoreOptionOrderTests {
  private static let cases: [([String], [String])] = [
    ([], []),
    (["status"], ["status"]),
    (["--store", "a", "status"], ["status", "--store", "a"]),
    (
      ["--store=a", "--read-only", "records", "put", "--type", "T", "x=1"],
      ["records", "put", "--store=a", "--read-only", "--type", "T", "x=1"]
    ),
    (["--store", "a", "status", "--store", "b"], ["status", "--store", "a", "--store", "b"]),
    (["--store", "a", "records", "get", "--", "-x"], ["records", "get", "--store", "a", "--", "-x"]),
    (["--store", "a"], ["--store", "a"]),
    (["--store", "a", "--theme", "paper"], ["--store", "a", "--theme", "paper"]),
    (["--help"], ["--help"]),
    (["--store"], ["--store"]),
  ]

  @Test(arguments: cases) func `the store's options may stand before the verb`(_ given: [String], _ parsed: [String]) {
    #expect(StoreOptions.afterVerb(given) == parsed)
  }
}
