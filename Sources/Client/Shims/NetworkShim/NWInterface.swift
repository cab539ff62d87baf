import Glibc

/// A network interface.
public struct NWInterface: Hashable, Sendable {
  /// The kind of an interface.
  public enum InterfaceType: Hashable, Sendable {
    /// Any other kind, such as a tunnel or a bridge.
    case other
    /// A wireless network.
    case wifi
    /// A mobile network.
    case cellular
    /// A cable, or the virtual one of a container.
    case wiredEthernet
    /// The machine itself.
    case loopback
  }

  /// The name, such as `eth0`.
  public let name: String
  /// The kind, as the kernel shows it below `/sys/class/net`.
  public let type: InterfaceType
  /// The kernel's index; 0 for an interface that is gone.
  public let index: Int

  init(name: String, exists: (String) -> Bool = { access($0, F_OK) == 0 }) {
    self.name = name
    index = Int(if_nametoindex(name))
    let folder = "/sys/class/net/\(name)"
    type =
      if name == "lo" {
        .loopback
      } else if exists("\(folder)/wireless") || exists("\(folder)/phy80211") {
        .wifi
      } else if name.hasPrefix("ww") {
        // The prefix that systemd and the kernel give to modems.
        .cellular
      } else if name.hasPrefix("eth") || name.hasPrefix("en") {
        .wiredEthernet
      } else {
        .other
      }
  }
}
