import CloudKit
import CloudKitModels
import Foundation

/// The time below which a tenth of the rounds of each piece of work are, in microseconds. The works take turns.
func undisturbedTimes(rounds: Int, repeating count: Int, _ works: [() throws -> Void]) throws -> [Double] {
  var times = works.map { _ in [Double]() }
  for round in -2..<rounds {
    for (index, work) in works.enumerated() {
      let start = ContinuousClock.now
      for _ in 0..<count { try work() }
      // The first rounds only warm up.
      if round >= 0 { times[index].append((ContinuousClock.now - start) / .microseconds(count)) }
    }
  }
  return times.map { $0.sorted()[rounds / 10] }
}

func printRow(_ name: String, _ microseconds: Double, of yardstick: Double, atLeast limit: Double? = nil) {
  let factor = yardstick / microseconds
  let verdict = limit.map { factor >= $0 ? ", at least \($0)" : ", NOT at least \($0)" } ?? ""
  let rounded = [microseconds, factor].map { ($0 * 10).rounded() / 10 }
  print(
    name.padding(toLength: 44, withPad: " ", startingAt: 0),
    "\(rounded[0]) µs, \(rounded[1]) times as fast\(verdict)"
  )
}

let plain = PlainNote.sample()
let generated = MacroNote(plain)
let (encoder, decoder) = (CKRecordEncoder(), CKRecordDecoder())
let (plainRecord, generatedRecord) = (try encoder.encode(plain), try encoder.encode(generated))
var different = 0

let times = try undisturbedTimes(
  rounds: 101,
  repeating: 200,
  [
    {
      let json = try JSONEncoder().encode(plain)
      let dictionary = try JSONSerialization.jsonObject(with: json)
      let again = try JSONSerialization.data(withJSONObject: dictionary)
      if try JSONDecoder().decode(PlainNote.self, from: again) != plain { different += 1 }
    },
    { if try decoder.decode(PlainNote.self, from: encoder.encode(plain)) != plain { different += 1 } },
    { if try decoder.decode(MacroNote.self, from: encoder.encode(generated)) != generated { different += 1 } },
    { _ = try encoder.encode(plain) },
    { _ = try encoder.encode(generated) },
    { _ = try decoder.decode(PlainNote.self, from: plainRecord) },
    { _ = try decoder.decode(MacroNote.self, from: generatedRecord) },
  ]
)
print("A value with 10 fields there and back; 101 rounds in turn")
printRow("JSON, through a dictionary", times[0], of: times[0])
printRow("a record, by Codable", times[1], of: times[0], atLeast: 2)
printRow("a record, by the macro", times[2], of: times[0], atLeast: 8)
for (name, time) in zip(
  ["encode, by Codable", "encode, by the macro", "decode, by Codable", "decode, by the macro"],
  times[3...]
) {
  printRow("  \(name)", time, of: times[0])
}
if different > 0 { print("\(different) values came back different") }
