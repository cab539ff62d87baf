import Glibc

/// The state of the network at one moment.
public struct NWPath: Hashable, Sendable {
  /// The availability of connections.
  public enum Status: Hashable, Sendable {
    /// Connections can be made.
    case satisfied
    /// Connections cannot be made.
    case unsatisfied
    /// Connections could be made after an interface is activated. Never used on Linux.
    case requiresConnection
  }

  /// The availability of connections. It is satisfied if an interface other than loopback is up and running and has an
  /// address that is not link-local.
  public let status: Status
  /// Whether such an interface has an IPv4 address that is not link-local.
  public let supportsIPv4: Bool
  /// Whether such an interface has an IPv6 address that is not link-local.
  public let supportsIPv6: Bool
  /// Whether traffic is expensive. Linux does not know, so it is always false.
  public var isExpensive: Bool { false }
  /// Whether the user wants to limit traffic. Linux does not know, so it is always false.
  public var isConstrained: Bool { false }

  /// The interfaces that connections can use, in the order of the system.
  public let availableInterfaces: [NWInterface]

  /// Whether connections can use an interface of a type.
  public func usesInterfaceType(_ type: NWInterface.InterfaceType) -> Bool {
    availableInterfaces.contains { $0.type == type }
  }

  /// The interfaces with their addresses: a path over others counts as a different path, even if it supports the same
  /// protocols. A container's bridge may keep a path satisfied while the machine's own network is lost and comes back.
  private let addresses: Set<[UInt8]>

  init(
    supportsIPv4: Bool,
    supportsIPv6: Bool,
    addresses: Set<[UInt8]> = [],
    availableInterfaces: [NWInterface] = []
  ) {
    self.supportsIPv4 = supportsIPv4
    self.supportsIPv6 = supportsIPv6
    self.addresses = addresses
    self.availableInterfaces = availableInterfaces
    status = supportsIPv4 || supportsIPv6 ? .satisfied : .unsatisfied
  }

  /// The path for the current state of the machine's interfaces.
  static var current: NWPath {
    var list: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&list) == 0 else { return NWPath(supportsIPv4: false, supportsIPv6: false) }
    defer { freeifaddrs(list) }
    var (ipv4, ipv6) = (false, false)
    var addresses: Set<[UInt8]> = []
    var interfaces: [NWInterface] = []
    var next = list
    while let interface = next?.pointee {
      next = interface.ifa_next
      let flags = Int(interface.ifa_flags)
      let isUsable = flags & Int(IFF_UP) != 0 && flags & Int(IFF_RUNNING) != 0
      guard isUsable, flags & Int(IFF_LOOPBACK) == 0, let address = interface.ifa_addr, !address.isLinkLocal else {
        continue
      }
      switch Int32(address.pointee.sa_family) {
      case AF_INET: ipv4 = true
      case AF_INET6: ipv6 = true
      default: continue
      }
      let name = String(cString: interface.ifa_name)
      addresses.insert(Array(name.utf8) + address.addressBytes)
      if !interfaces.contains(where: { $0.name == name }) { interfaces.append(NWInterface(name: name)) }
    }
    return NWPath(supportsIPv4: ipv4, supportsIPv6: ipv6, addresses: addresses, availableInterfaces: interfaces)
  }
}

extension UnsafeMutablePointer<sockaddr> {
  /// The bytes of an IPv4 or IPv6 address; empty for any other.
  fileprivate var addressBytes: [UInt8] {
    let raw = UnsafeRawPointer(self)
    switch Int32(pointee.sa_family) {
    case AF_INET:
      return withUnsafeBytes(of: raw.loadUnaligned(as: sockaddr_in.self).sin_addr) { Array($0) }
    case AF_INET6:
      return withUnsafeBytes(of: raw.loadUnaligned(as: sockaddr_in6.self).sin6_addr) { Array($0) }
    default: return []
    }
  }

  /// Whether the address is link-local: 169.254.0.0/16 or fe80::/10.
  fileprivate var isLinkLocal: Bool {
    let bytes = addressBytes
    return bytes.count == 4 ? bytes[0] == 169 && bytes[1] == 254 : bytes.first == 0xFE && bytes[1] & 0xC0 == 0x80
  }
}
