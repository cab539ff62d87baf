import ArgumentParser
import CloudKit
import Facts
import Glibc

/// `cktop keygen`.
struct KeygenCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "keygen",
    abstract: "Generate a P-256 server-to-server key.",
    discussion: """
      Prints the public key, which you register in CloudKit Console or with cktop serve --server-key, and its key ID; \
      CloudKit Console assigns an ID of its own. The private key is written to FILE with mode 0600; an existing file \
      is never overwritten. Without --out it is printed first, so that it can be piped into a secret store.

        cktop keygen --out server.pem > public.pem
      """
  )

  @Option(
    help: ArgumentHelp("Write the private key to this file.", valueName: "file"),
    completion: .file(),
    transform: String.path
  )
  var out: String?
  @Flag(help: .json("Print the public key and its ID as a JSON object.", GeneratedKey.shape)) var json = false

  func run() async throws {
    let key = CKServerToServerKey.generate()
    if let out { try write(key.privateKeyPEM, to: out) }
    if json { return OutputFile.standard.line(GeneratedKey(key: key, file: out).json.line) }
    if out == nil { OutputFile.standard.line(key.privateKeyPEM) }
    OutputFile.standard.line(key.publicKeyPEM)
    OutputFile.standard.line("Key ID: \(key.keyID)")
  }

  /// Writes the key to a new file that only the owner can read from the start. Never overwrites a file.
  private func write(_ text: String, to path: String) throws(CommandFailure) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      switch errno {
      case EEXIST: throw .usage("\(path.excerpt) exists and a key is never overwritten; choose another --out")
      case ENOSPC, EDQUOT: throw Self.full(path, errno)
      case let code:
        throw .usage("\(path.excerpt) cannot be written (\(String(cString: strerror(code)))); choose another --out")
      }
    }
    defer { close(descriptor) }
    // A umask only removes permissions, but a default ACL may add some.
    fchmod(descriptor, 0o600)
    do throws(OutputFile.Failure) {
      try OutputFile(descriptor: descriptor).writeAll(text + "\n")
      guard fsync(descriptor) == 0 else { throw OutputFile.Failure(code: errno) }
    } catch {
      unlink(path)
      throw Self.full(path, error.code)
    }
  }

  /// The failure for a disk that does not take the key: the command itself is right.
  private static func full(_ path: String, _ code: Int32) -> CommandFailure {
    CommandFailure(
      "\(path.excerpt) cannot be written (\(String(cString: strerror(code)))); check the disk and try again",
      .itemsFailed
    )
  }
}

/// A new key, with the private key if it is in no file.
struct GeneratedKey: PrintedObject {
  let key: CKServerToServerKey.Generated
  let file: String?

  private static let names: JSONFields<Self> = [
    "keyID": .text(\.key.keyID), "publicKey": .text(\.key.publicKeyPEM), "file": .text(\.file),
  ]
  private static let secret: JSONFields<Self> = ["privateKey": .text(\.key.privateKeyPEM)]

  static let jsonFields = names.adding(secret.ifAny { $0.file == nil ? $0 : nil })
}
