public import Foundation
internal import Synchronization

/// Operations that belong together for the program, such as all that one click of a user brings about.
///
/// A group says nothing about atomicity. Web Services know no groups, so nothing of it is sent: it gives its operations a
/// configuration in common, and keeps what the program notes.
public final class CKOperationGroup: NSObject, NSSecureCoding, NSCopying, Sendable {
  /// How much is expected to travel.
  public enum TransferSize: Int, Sendable {
    /// Not known.
    case unknown = 0
    /// Kilobytes.
    case kilobytes = 1
    /// Megabytes.
    case megabytes = 2
    /// Tens of megabytes.
    case tensOfMegabytes = 3
    /// Hundreds of megabytes.
    case hundredsOfMegabytes = 4
    /// Gigabytes.
    case gigabytes = 5
    /// Tens of gigabytes.
    case tensOfGigabytes = 6
    /// Hundreds of gigabytes.
    case hundredsOfGigabytes = 7
  }

  private struct Content: Sendable {
    var configuration = CKOperationConfiguration()
    var name: String?
    var quantity = 0
    var expectedSendSize = TransferSize.unknown
    var expectedReceiveSize = TransferSize.unknown
  }

  /// The group's identity; a new one for each group that is made.
  public let operationGroupID: String
  private let content: Mutex<Content>

  /// Makes a group.
  public convenience override init() { self.init(Content(), id: UUID().uuidString) }

  private init(_ content: Content, id: String) {
    operationGroupID = id
    self.content = Mutex(content)
  }

  /// What holds for operations of the group whose own configuration says nothing else. Setting nil makes a new one.
  public var defaultConfiguration: CKOperationConfiguration! {
    get { content.withLock { $0.configuration } }
    set {
      let configuration = CKOperationConfiguration(newValue?.settings ?? OperationSettings())
      content.withLock { $0.configuration = configuration }
    }
  }

  /// What the group is for.
  public var name: String? {
    get { content.withLock { $0.name } }
    set { content.withLock { $0.name = newValue } }
  }

  /// How many operations the program expects in the group; 0 where it does not say.
  public var quantity: Int {
    get { content.withLock { $0.quantity } }
    set { content.withLock { $0.quantity = newValue } }
  }

  /// How much the program expects to send.
  public var expectedSendSize: TransferSize {
    get { content.withLock { $0.expectedSendSize } }
    set { content.withLock { $0.expectedSendSize = newValue } }
  }

  /// How much the program expects to receive.
  public var expectedReceiveSize: TransferSize {
    get { content.withLock { $0.expectedReceiveSize } }
    set { content.withLock { $0.expectedReceiveSize = newValue } }
  }

  /// A group of its own with the same identity and values.
  public func copy(with zone: NSZone? = nil) -> Any {
    var content = content.withLock { $0 }
    content.configuration = CKOperationConfiguration(content.configuration.settings)
    return CKOperationGroup(content, id: operationGroupID)
  }

  /// Always true.
  public static var supportsSecureCoding: Bool { true }

  /// Reads an archived group; nil where its identity is missing.
  public init?(coder: NSCoder) {
    guard let id = coder.string(forKey: "OperationGroupID") else { return nil }
    operationGroupID = id
    var content = Content()
    content.name = coder.string(forKey: "Name")
    content.quantity = coder.decodeInteger(forKey: "Quantity")
    content.expectedSendSize = TransferSize(rawValue: coder.decodeInteger(forKey: "ExpectedSendSize")) ?? .unknown
    content.expectedReceiveSize = TransferSize(rawValue: coder.decodeInteger(forKey: "ExpectedReceiveSize")) ?? .unknown
    self.content = Mutex(content)
  }

  /// Archives the group without its default configuration, which names things of this process.
  public func encode(with coder: NSCoder) {
    let content = content.withLock { $0 }
    coder.encode(NSString(string: operationGroupID), forKey: "OperationGroupID")
    if let name = content.name { coder.encode(NSString(string: name), forKey: "Name") }
    coder.encode(content.quantity, forKey: "Quantity")
    coder.encode(content.expectedSendSize.rawValue, forKey: "ExpectedSendSize")
    coder.encode(content.expectedReceiveSize.rawValue, forKey: "ExpectedReceiveSize")
  }
}
