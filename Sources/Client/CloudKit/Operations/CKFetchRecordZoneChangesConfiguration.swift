public import Foundation
internal import Synchronization

/// The token, limit and fields for fetching a zone's changes.
public final class CKFetchRecordZoneChangesConfiguration: NSObject, CKArchivable, NSCopying, Sendable {
  private struct Content: Sendable {
    var token: CKServerChangeToken?
    var resultsLimit = 0
    var desiredKeys: [CKRecord.FieldKey]?
  }

  private let content: Mutex<Content>

  /// Makes a configuration that fetches all changes from the beginning.
  public convenience override init() { self.init(Content()) }

  /// Makes a configuration.
  public convenience init(
    previousServerChangeToken: CKServerChangeToken? = nil,
    resultsLimit: Int? = nil,
    desiredKeys: [CKRecord.FieldKey]? = nil
  ) {
    self.init(Content(token: previousServerChangeToken, resultsLimit: resultsLimit ?? 0, desiredKeys: desiredKeys))
  }

  private init(_ content: Content) {
    self.content = Mutex(content)
  }

  /// The token to continue from; nil starts from the beginning. Tokens of databases and other zones are not valid here.
  public var previousServerChangeToken: CKServerChangeToken? {
    get { content.withLock { $0.token } }
    set { content.withLock { $0.token = newValue } }
  }

  /// The maximum number of records in a page; 0 leaves it to the server, which returns at most 200.
  public var resultsLimit: Int {
    get { content.withLock { $0.resultsLimit } }
    set { content.withLock { $0.resultsLimit = newValue } }
  }

  /// The fields to fetch; nil fetches all.
  public var desiredKeys: [CKRecord.FieldKey]? {
    get { content.withLock { $0.desiredKeys } }
    set { content.withLock { $0.desiredKeys = newValue } }
  }

  /// Returns an independent configuration with the same values.
  public func copy(with zone: NSZone? = nil) -> Any {
    CKFetchRecordZoneChangesConfiguration(content.withLock { $0 })
  }

  /// Reads an archived configuration. Missing values get their defaults.
  public convenience init?(coder: NSCoder) {
    var content = Content()
    content.token = coder.object(CKServerChangeToken.self, forKey: "PreviousServerChangeToken")
    content.resultsLimit = coder.decodeInteger(forKey: "ResultsLimit")
    if coder.containsValue(forKey: "DesiredKeys") {
      content.desiredKeys = coder.decodeObject(of: [NSArray.self, NSString.self], forKey: "DesiredKeys") as? [String]
    }
    self.init(content)
  }

  /// Archives the configuration.
  public func encode(with coder: NSCoder) {
    let content = content.withLock { $0 }
    if let token = content.token { coder.encode(token, forKey: "PreviousServerChangeToken") }
    coder.encode(content.resultsLimit, forKey: "ResultsLimit")
    if let keys = content.desiredKeys {
      coder.encode(NSArray(array: keys.map { NSString(string: $0) }), forKey: "DesiredKeys")
    }
  }
}
