package import Foundation

/// A file or folder of the package by its path in it.
package func packageFile(_ path: String) -> URL {
  URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: path)
}

/// Returns the text of a file of the package.
package func packageText(_ path: String) throws -> String {
  try String(contentsOf: packageFile(path), encoding: .utf8)
}

/// Returns the path of the folder of a module's sources, which is in one of the wings of `Sources`.
package func sources(of module: String) throws -> String {
  let wings = try FileManager.default.contentsOfDirectory(atPath: packageFile("Sources").path).sorted()
  let folders = wings.map { "Sources/\($0)/\(module)" }
  guard let folder = folders.first(where: { FileManager.default.fileExists(atPath: packageFile($0).path) }) else {
    throw CocoaError(.fileReadNoSuchFile)
  }
  return folder
}

/// Returns the Swift files in a folder of the package and in the folders below it.
///
/// - Throws: An error if there is none.
package func swiftFiles(in folder: String) throws -> [URL] {
  let all = FileManager.default.enumerator(at: packageFile(folder), includingPropertiesForKeys: nil)
  let files = all?.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" } ?? []
  guard !files.isEmpty else { throw CocoaError(.fileReadNoSuchFile) }
  return files
}

/// Returns the text that was recorded in a file of the package; with `RECORD_SNAPSHOTS=1` records the new text first.
package func recorded(_ path: String, _ text: String) throws -> String {
  let file = packageFile(path)
  if ProcessInfo.processInfo.environment["RECORD_SNAPSHOTS"] == "1" {
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: file)
  }
  return try packageText(path)
}
