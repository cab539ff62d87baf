public import Foundation
internal import Synchronization

/// A group of related operations, such as those started by one user action.
///
/// A group has nothing to do with atomicity. Web Services do not support groups, so nothing of it is sent: it gives its
/// operations a common default configuration and stores what the program sets.
public final class CKOperationGroup: NSObject, CKArchivable, NSCopying, Sendable {
  /// The expected size of a transfer.
  public enum TransferSize: Int, Sendable {
    /// The size is unknown.
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
    /// Never used: see "Switches" in the handbook (`Handbook/Client/MovingToAServer.md`).
    @available(*, unavailable) case _unknown = -1
  }

  private struct Content: Sendable {
    var configuration = CKOperationConfiguration()
    var name: String?
    var quantity = 0
    var expectedSendSize = TransferSize.unknown
    var expectedReceiveSize = TransferSize.unknown
  }

  /// The identifier of the group, unique for each group that is made.
  public let operationGroupID: String
  private let content: Mutex<Content>

  /// Makes a group.
  public convenience override init() { self.init(Content(), id: UUID().uuidString) }

  private init(_ content: Content, id: String) {
    operationGroupID = id
    self.content = Mutex(content)
  }

  /// The settings for operations of the group that do not set their own. Setting nil resets them.
  public var defaultConfiguration: CKOperationConfiguration! {
    get { content.withLock { $0.configuration } }
    set {
      let configuration = CKOperationConfiguration(newValue?.settings ?? OperationSettings())
      content.withLock { $0.configuration = configuration }
    }
  }

  /// The name of the group.
  public var name: String? {
    get { content.withLock { $0.name } }
    set { content.withLock { $0.name = newValue } }
  }

  /// The number of operations expected in the group; 0 if unknown.
  public var quantity: Int {
    get { content.withLock { $0.quantity } }
    set { content.withLock { $0.quantity = newValue } }
  }

  /// The amount of data the program expects to send.
  public var expectedSendSize: TransferSize {
    get { content.withLock { $0.expectedSendSize } }
    set { content.withLock { $0.expectedSendSize = newValue } }
  }

  /// The amount of data the program expects to receive.
  public var expectedReceiveSize: TransferSize {
    get { content.withLock { $0.expectedReceiveSize } }
    set { content.withLock { $0.expectedReceiveSize = newValue } }
  }

  /// Returns an independent group with the same identifier and values.
  public func copy(with zone: NSZone? = nil) -> Any {
    var content = content.withLock { $0 }
    content.configuration = CKOperationConfiguration(content.configuration.settings)
    return CKOperationGroup(content, id: operationGroupID)
  }

  /// Reads an archived group; nil if its identifier is missing.
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

  /// Archives the group without its default configuration, which refers to objects of this process.
  public func encode(with coder: NSCoder) {
    let content = content.withLock { $0 }
    coder.encode(NSString(string: operationGroupID), forKey: "OperationGroupID")
    if let name = content.name { coder.encode(NSString(string: name), forKey: "Name") }
    coder.encode(content.quantity, forKey: "Quantity")
    coder.encode(content.expectedSendSize.rawValue, forKey: "ExpectedSendSize")
    coder.encode(content.expectedReceiveSize.rawValue, forKey: "ExpectedReceiveSize")
  }
}
