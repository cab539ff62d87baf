import ArgumentParser
import CloudKit
import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// `cktop keygen`.
struct KeygenCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "keygen",
    abstract: "Makes a P-256 server-to-server key.",
    discussion: """
      Prints the public key to register in CloudKit Console, or with cktop serve --server-key, and its key ID; Apple's \
      console gives the key an ID of its own. The private key goes to FILE (mode 0600, never over an existing one); \
      without --out it is printed first, for a pipe into a secret store.

        cktop keygen --out server.pem > public.pem
      """
  )

  @Option(help: ArgumentHelp("Where the private key goes.", valueName: "file")) var out: String?
  @Flag(help: "The public key and its ID as one JSON object.") var json = false

  func run() async throws {
    let key = CKServerToServerKey.generate()
    if let out { try write(key.privateKeyPEM, to: out) }
    if json {
      var object: JSONObject = [
        "keyID": .text(key.keyID), "publicKey": .text(key.publicKeyPEM), "file": .optional(out),
      ]
      if out == nil { object["privateKey"] = .text(key.privateKeyPEM) }
      return OutputStream.standard.line(object.line)
    }
    if out == nil { OutputStream.standard.line(key.privateKeyPEM) }
    OutputStream.standard.line(key.publicKeyPEM)
    OutputStream.standard.line("Key ID: \(key.keyID)")
  }

  /// Writes the key so that nobody else can read it at any moment, and nothing that exists is lost.
  private func write(_ text: String, to path: String) throws(CommandFailure) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      if errno == EEXIST { throw .usage("\(path) exists; choose another --out, a key is never overwritten") }
      throw .usage("\(path) cannot be written (\(String(cString: strerror(errno)))); choose another --out")
    }
    // A umask may only take rights away, but a default list of rights may add some.
    fchmod(descriptor, 0o600)
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    do {
      try handle.write(contentsOf: Data((text + "\n").utf8))
      try handle.synchronize()
    } catch {
      unlink(path)
      throw .usage("\(path) cannot be written; check the disk and try again")
    }
  }
}
