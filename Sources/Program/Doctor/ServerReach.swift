import CloudKit
import Foundation
import NIOCore
import NIOPosix

/// The result of connecting once to a server, or to the proxy on the way to it.
enum ServerReach: Hashable, Sendable {
  /// A connection was made. `address`: the address of the server or the proxy; nil if unknown.
  case connected(address: String?)
  /// No name server knows the name, or none replied. The message is for people.
  case notFound(String)
  /// No connection was made, for the reason in the message.
  case failed(String)

  /// Connects and disconnects. Sends nothing.
  ///
  /// - Parameter timeout: The maximum time, including the search for the name.
  static func connect(
    to url: URL,
    _ route: ProxySettings.Route,
    timeout: Duration = .seconds(5)
  ) async -> ServerReach {
    var (host, port) = (url.host(percentEncoded: false) ?? "", url.port ?? (url.scheme == "http" ? 80 : 443))
    if case .proxy(let proxy) = route { (host, port) = (proxy.host, proxy.port) }
    // An address of version 6 has brackets in a URL.
    if host.hasPrefix("[") { host = String(host.dropFirst().dropLast()) }
    do {
      let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .connectTimeout(TimeAmount(timeout)).connect(host: host, port: port).get()
      let address = channel.remoteAddress?.ipAddress
      try? await channel.close()
      return .connected(address: address)
    } catch {
      let message = CKTransportError(connecting: error, to: url, route).message
      let isNotFound = (error as? NIOConnectionError)?.connectionErrors.isEmpty == true
      return isNotFound ? .notFound(message) : .failed(message)
    }
  }
}
