/// One of a container's three databases. The raw value is its name in URLs.
package enum DatabaseName: String, Hashable, Sendable, CaseIterable, Codable {
  case `public`, `private`, shared
}
