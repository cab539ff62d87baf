import CloudKitEmulator
import Facts
import Foundation
import TOMLKit
import TerminalUI

/// Reading fault plans from TOML.
extension FaultPlan {
  init(tomlFile path: String) throws(CommandFailure) {
    guard let data = FileManager.default.contents(atPath: path), let text = String(data: data, encoding: .utf8) else {
      throw .cannotRead(path, remedy: "give a TOML file as in cktop help faults")
    }
    try self.init(toml: text, source: path)
  }

  init(toml text: String, source: String) throws(CommandFailure) {
    // The parser takes a C string and would silently stop at a NUL.
    if let line = TOMLPlaces.lineOfNUL(in: text) {
      throw .usage("\(source) line \(line): contains a NUL character; remove it")
    }
    let json: Data
    do {
      json = Data(try TOMLTable(string: text).convert(to: .json).utf8)
    } catch let error as TOMLParseError {
      let begin = error.source.begin
      let message = UnquotedText(in: text, line: begin.line)?.remedy() ?? error.description
      throw .usage("\(source) line \(begin.line), column \(begin.column): \(message); see cktop help faults")
    } catch {
      throw .usage("\(source) is not TOML; see cktop help faults")
    }
    do throws(Invalid) {
      try self.init(json: json)
    } catch {
      throw .usage("\(source): \(error); see cktop help faults")
    }
  }
}
