import CloudKitEmulator
import Foundation

/// The least that speaks HTTP/1.1 over one connection: what is measured with it is the server.
final class KeptConnection {
  struct Broken: Error {}

  private let socket: Int32
  private var buffer = [UInt8](repeating: 0, count: 1 << 16)

  init(port: Int) throws {
    socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let isConnected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    var flag: Int32 = 1
    setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &flag, socklen_t(MemoryLayout<Int32>.size))
    guard isConnected else { throw Broken() }
  }

  deinit { close(socket) }

  /// Sends a request, and returns the body of the answer once all of it is there.
  func send(_ request: EmulatorRequest) throws -> Data {
    let head = "POST \(request.path)?\(request.query) HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    var bytes = Data("\(head)Content-Length: \(request.body.count)\r\n\r\n".utf8)
    bytes.append(request.body)
    try bytes.withUnsafeBytes { bytes in
      var sent = 0
      while sent < bytes.count {
        let count = write(socket, bytes.baseAddress! + sent, bytes.count - sent)
        guard count > 0 else { throw Broken() }
        sent += count
      }
    }
    var answer = Data()
    let end = Data("\r\n\r\n".utf8)
    while true {
      let count = read(socket, &buffer, buffer.count)
      guard count > 0 else { throw Broken() }
      answer.append(contentsOf: buffer[..<count])
      guard let head = answer.range(of: end) else { continue }
      let text = String(decoding: answer[..<head.lowerBound], as: UTF8.self)
      guard text.hasPrefix("HTTP/1.1 200"),
        let field = text.split(separator: "\r\n").first(where: { $0.lowercased().hasPrefix("content-length:") }),
        let length = Int(field.filter(\.isNumber))
      else { throw Broken() }
      if answer.count >= head.upperBound + length { return answer[head.upperBound...] }
    }
  }
}
