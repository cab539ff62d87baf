import Glibc

/// What the network can do at a moment.
public struct NWPath: Hashable, Sendable {
  /// Whether connections can be made.
  public enum Status: Hashable, Sendable {
    /// They can.
    case satisfied
    /// They cannot.
    case unsatisfied
    /// They could, once something is brought up. Linux never says so.
    case requiresConnection
  }

  /// Whether connections can be made: some interface beside loopback is up, running and has an address of its own.
  public let status: Status
  /// Whether an interface has an IPv4 address.
  public let supportsIPv4: Bool
  /// Whether an interface has an IPv6 address that reaches beyond its link.
  public let supportsIPv6: Bool
  /// Whether traffic costs money. Linux does not know: false.
  public var isExpensive: Bool { false }
  /// Whether the user wants little traffic. Linux does not know: false.
  public var isConstrained: Bool { false }

  init(supportsIPv4: Bool, supportsIPv6: Bool) {
    self.supportsIPv4 = supportsIPv4
    self.supportsIPv6 = supportsIPv6
    status = supportsIPv4 || supportsIPv6 ? .satisfied : .unsatisfied
  }

  /// The path as the interfaces of this machine are now.
  static var current: NWPath {
    var list: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&list) == 0 else { return NWPath(supportsIPv4: false, supportsIPv6: false) }
    defer { freeifaddrs(list) }
    var (ipv4, ipv6) = (false, false)
    var next = list
    while let interface = next?.pointee {
      next = interface.ifa_next
      let flags = Int(interface.ifa_flags)
      let isUsable = flags & Int(IFF_UP) != 0 && flags & Int(IFF_RUNNING) != 0
      guard isUsable, flags & Int(IFF_LOOPBACK) == 0, let address = interface.ifa_addr else { continue }
      switch Int32(address.pointee.sa_family) {
      case AF_INET: ipv4 = ipv4 || !address.isLinkLocal
      case AF_INET6: ipv6 = ipv6 || !address.isLinkLocal
      default: continue
      }
    }
    return NWPath(supportsIPv4: ipv4, supportsIPv6: ipv6)
  }
}

extension UnsafeMutablePointer<sockaddr> {
  /// Whether the address reaches no further than the cable: 169.254.0.0/16, fe80::/10.
  fileprivate var isLinkLocal: Bool {
    let raw = UnsafeRawPointer(self)
    switch Int32(pointee.sa_family) {
    case AF_INET:
      let address = raw.loadUnaligned(as: sockaddr_in.self).sin_addr.s_addr
      return UInt32(bigEndian: address) >> 16 == 0xA9FE
    default:
      let address = raw.loadUnaligned(as: sockaddr_in6.self).sin6_addr
      return withUnsafeBytes(of: address) { $0[0] == 0xFE && $0[1] & 0xC0 == 0x80 }
    }
  }
}
