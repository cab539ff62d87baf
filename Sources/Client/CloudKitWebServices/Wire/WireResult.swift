package import JSONText

/// An item of a list that may be an error instead.
package protocol WireItem: JSONReadable, Hashable, Sendable {
  associatedtype ID: Hashable & Sendable

  /// The identifier; nil if the reply has none.
  var id: ID? { get }
  /// The key of the list.
  static var list: StaticString { get }
  /// Whether the items of a reply have the order of the request, as far as the server knows them.
  static var isListedInOrder: Bool { get }
  /// Returns the name in an identifier.
  static func name(of id: ID) -> String
  /// Returns the identifier that an error names.
  static func id(of error: WireItemError) -> ID?
  /// Reads an item; nil if it is an error.
  static func unlessFailure(_ json: inout JSONReader) throws(JSONError) -> Self?
  /// Returns the meaning of the item: a deletion, or an error if it is not usable.
  consuming func result() -> WireResult<Self>
}

extension WireItem where ID == String {
  package static var isListedInOrder: Bool { true }
  package static func name(of id: String) -> String { id }
}

extension WireItem where ID == WireZoneID {
  package static var list: StaticString { "zones" }
  package static var isListedInOrder: Bool { false }
  package static func name(of id: WireZoneID) -> String { id.zoneName }
  package static func id(of error: WireItemError) -> WireZoneID? { error.zoneID }
}

/// An item of a reply, its deletion, or an error.
package enum WireResult<Item: WireItem>: Hashable, Sendable {
  case item(Item)
  /// A deletion. The server sends the type of few deleted records.
  case deleted(Item.ID, type: String? = nil)
  /// An error. The identifier is missing if the server does not know or name it; then the index identifies the item.
  case failure(Item.ID?, WebServicesError)

  /// The identifier of the item, if known.
  package var id: Item.ID? {
    switch self {
    case .item(let item): item.id
    case .deleted(let id, _): id
    case .failure(let id, _): id
    }
  }
}

extension WireResult: WireListed {
  package static var list: StaticString { Item.list }

  package init(json: inout JSONReader) throws(JSONError) {
    let start = json.offset
    if let item = try Item.unlessFailure(&json) {
      self = item.result()
    } else {
      json.offset = start
      let failure = try WireItemError(json: &json)
      self = .failure(Item.id(of: failure), failure.error)
    }
  }
}

/// An element of a list that is a reply or a page of one.
package protocol WireListed: JSONReadable, Sendable {
  /// The key of the list.
  static var list: StaticString { get }
}

/// A reply that is a list, or a page of one.
package struct WirePage<Element: WireListed>: WireReply, Sendable {
  package var elements: [Element] = []
  /// The position after a page of changes.
  package var syncToken: String?
  /// Whether more changes follow. Null means false (reference 5.7).
  package var moreComing = false
  /// The position after a page of a query; nil at its end.
  package var continuationMarker: String?

  package init() {}

  package mutating func members(_ json: inout ReadingMembers) throws(JSONError) {
    // A missing list must not pass for an empty one.
    try json(Element.list, &elements)
    try position(&json)
  }

  fileprivate mutating func position(_ json: inout ReadingMembers) throws(JSONError) {
    try json("continuationMarker", &continuationMarker)
    try json("moreComing", &moreComing, default: false)
    try json("syncToken", &syncToken)
  }
}

/// A page of items or errors.
package typealias WireResults<Item: WireItem> = WirePage<WireResult<Item>>

/// A page of a feed, which may have no list.
struct WireFeedPage<Element: WireListed>: WireReply, Sendable {
  var page = WirePage<Element>()

  mutating func members(_ json: inout ReadingMembers) throws(JSONError) {
    try json(Element.list, &page.elements, default: [])
    try page.position(&json)
  }
}

/// A reply whose elements may be errors, which have no identifier but that of the request.
protocol WireItems {
  /// Adds the identifier of the request to each error.
  mutating func name(request id: String)
}

extension WireResult: WireItems {
  mutating func name(request id: String) {
    guard case .failure(let item, var error) = self else { return }
    error.uuid = error.uuid ?? id
    self = .failure(item, error)
  }
}

extension WirePage: WireItems where Element: WireItems {
  mutating func name(request id: String) { for place in elements.indices { elements[place].name(request: id) } }
}

extension WireFeedPage: WireItems where Element: WireItems {
  mutating func name(request id: String) { page.name(request: id) }
}

/// An error dictionary, for one item or for the whole request.
package struct WireItemError: WireReply {
  package var recordName: String?
  package var zoneID: WireZoneID?
  package var subscriptionID: String?
  package var shortGUID: String?
  package private(set) var error = WebServicesError(.unexpectedServerResponse, "")

  package init() {}

  package mutating func members(_ json: inout ReadingMembers) throws(JSONError) {
    var (code, guid) = (error.code.name, nil as JSON?)
    try json("recordName", &recordName)
    try json("zoneID", &zoneID)
    try json("subscriptionID", &subscriptionID)
    try json("shortGUID", &guid)
    try json("serverErrorCode", &code)
    try json("reason", &error.reason, default: "")
    try json("retryAfter", &error.retryAfter)
    try json("redirectURL", &error.redirectURL)
    try json("uuid", &error.uuid)
    error.code = ServerErrorCode(code)
    shortGUID = guid?.shortGUID ?? shortGUID
  }
}
