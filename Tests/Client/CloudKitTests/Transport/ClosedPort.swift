import Foundation

/// An address that refuses connections for as long as this lives: its port is taken, and nobody listens.
final class ClosedPort {
  let port: Int
  let url: URL
  private let descriptor: CInt

  init() throws {
    descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = descriptor
    let status = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, size) == 0 && getsockname(descriptor, address, &size) == 0
      }
    }
    port = Int(UInt16(bigEndian: address.sin_port))
    guard status, let url = URL(string: "http://127.0.0.1:\(port)/") else {
      throw URLError(.cannotConnectToHost)
    }
    self.url = url
  }

  deinit { close(descriptor) }
}
