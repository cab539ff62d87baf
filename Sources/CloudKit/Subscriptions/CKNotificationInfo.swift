public import Foundation
internal import Synchronization

/// What a push says and does when a subscription fires. Use it by its name `CKSubscription.NotificationInfo`.
///
/// `@unchecked Sendable`: everything that changes lies behind one lock.
public final class CKNotificationInfo: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
  private let state: Mutex<WireNotificationInfo>

  var wire: WireNotificationInfo { state.withLock { $0 } }

  /// Makes a push that says and does nothing yet.
  public override convenience init() { self.init(wire: WireNotificationInfo()) }

  init(wire: WireNotificationInfo) { state = Mutex(wire) }

  private subscript<Value: Sendable>(_ part: any KeyPath<WireNotificationInfo, Value> & Sendable) -> Value {
    state.withLock { $0[keyPath: part] }
  }

  private func assign<Value: Sendable>(
    _ part: any WritableKeyPath<WireNotificationInfo, Value> & Sendable,
    _ value: Value
  ) {
    state.withLock { $0[keyPath: part] = value }
  }

  /// Makes a push from all that it says and does at once.
  public convenience init(
    alertBody: String? = nil,
    alertLocalizationKey: String? = nil,
    alertLocalizationArgs: [CKRecord.FieldKey] = [],
    title: String? = nil,
    titleLocalizationKey: String? = nil,
    titleLocalizationArgs: [CKRecord.FieldKey] = [],
    subtitle: String? = nil,
    subtitleLocalizationKey: String? = nil,
    subtitleLocalizationArgs: [CKRecord.FieldKey] = [],
    alertActionLocalizationKey: String? = nil,
    alertLaunchImage: String? = nil,
    soundName: String? = nil,
    desiredKeys: [CKRecord.FieldKey] = [],
    shouldBadge: Bool = false,
    shouldSendContentAvailable: Bool = false,
    shouldSendMutableContent: Bool = false,
    category: String? = nil,
    collapseIDKey: String? = nil
  ) {
    self.init()
    self.alertBody = alertBody
    self.alertLocalizationKey = alertLocalizationKey
    self.alertLocalizationArgs = alertLocalizationArgs.presence
    self.title = title
    self.titleLocalizationKey = titleLocalizationKey
    self.titleLocalizationArgs = titleLocalizationArgs.presence
    self.subtitle = subtitle
    self.subtitleLocalizationKey = subtitleLocalizationKey
    self.subtitleLocalizationArgs = subtitleLocalizationArgs.presence
    self.alertActionLocalizationKey = alertActionLocalizationKey
    self.alertLaunchImage = alertLaunchImage
    self.soundName = soundName
    self.desiredKeys = desiredKeys.presence
    self.shouldBadge = shouldBadge
    self.shouldSendContentAvailable = shouldSendContentAvailable
    self.shouldSendMutableContent = shouldSendMutableContent
    self.category = category
    self.collapseIDKey = collapseIDKey
  }

  /// The text of the alert.
  public var alertBody: String? {
    get { self[\.alertBody] }
    set { assign(\.alertBody, newValue) }
  }

  /// The key of the alert's text in the app's localizations.
  public var alertLocalizationKey: String? {
    get { self[\.alertLocalizationKey] }
    set { assign(\.alertLocalizationKey, newValue) }
  }

  /// The fields whose values are put into the localized text.
  public var alertLocalizationArgs: [CKRecord.FieldKey]? {
    get { self[\.alertLocalizationArgs] }
    set { assign(\.alertLocalizationArgs, newValue) }
  }

  /// The key of the action button's text in the app's localizations.
  public var alertActionLocalizationKey: String? {
    get { self[\.alertActionLocalizationKey] }
    set { assign(\.alertActionLocalizationKey, newValue) }
  }

  /// The image shown while the app starts from the alert.
  public var alertLaunchImage: String? {
    get { self[\.alertLaunchImage] }
    set { assign(\.alertLaunchImage, newValue) }
  }

  /// The title of the alert.
  public var title: String? {
    get { self[\.title] }
    set { assign(\.title, newValue) }
  }

  /// The key of the title in the app's localizations.
  public var titleLocalizationKey: String? {
    get { self[\.titleLocalizationKey] }
    set { assign(\.titleLocalizationKey, newValue) }
  }

  /// The fields whose values are put into the localized title.
  public var titleLocalizationArgs: [CKRecord.FieldKey]? {
    get { self[\.titleLocalizationArgs] }
    set { assign(\.titleLocalizationArgs, newValue) }
  }

  /// The subtitle of the alert.
  public var subtitle: String? {
    get { self[\.subtitle] }
    set { assign(\.subtitle, newValue) }
  }

  /// The key of the subtitle in the app's localizations.
  public var subtitleLocalizationKey: String? {
    get { self[\.subtitleLocalizationKey] }
    set { assign(\.subtitleLocalizationKey, newValue) }
  }

  /// The fields whose values are put into the localized subtitle.
  public var subtitleLocalizationArgs: [CKRecord.FieldKey]? {
    get { self[\.subtitleLocalizationArgs] }
    set { assign(\.subtitleLocalizationArgs, newValue) }
  }

  /// The sound that is played.
  public var soundName: String? {
    get { self[\.soundName] }
    set { assign(\.soundName, newValue) }
  }

  /// The fields that are copied into the push; three at most on Apple's server.
  public var desiredKeys: [CKRecord.FieldKey]? {
    get { self[\.additionalFields] }
    set { assign(\.additionalFields, newValue) }
  }

  /// The group of actions that the alert offers.
  public var category: String? {
    get { self[\.category] }
    set { assign(\.category, newValue) }
  }

  /// The field whose value replaces earlier pushes with the same value.
  public var collapseIDKey: String? {
    get { self[\.collapseIdKey] }
    set { assign(\.collapseIdKey, newValue) }
  }

  /// Whether the app's badge counts the push.
  public var shouldBadge: Bool {
    get { self[\.shouldBadge] ?? false }
    set { assign(\.shouldBadge, newValue) }
  }

  /// Whether the push wakes the app without a word to the user.
  public var shouldSendContentAvailable: Bool {
    get { self[\.shouldSendContentAvailable] ?? false }
    set { assign(\.shouldSendContentAvailable, newValue) }
  }

  /// Whether the app may change the push before it is shown.
  public var shouldSendMutableContent: Bool {
    get { self[\.shouldSendMutableContent] ?? false }
    set { assign(\.shouldSendMutableContent, newValue) }
  }

  /// Reads an archived push; nil where it is not one.
  public init?(coder: NSCoder) {
    guard let wire = coder.wire(WireNotificationInfo.self, forKey: "NotificationInfo") else { return nil }
    state = Mutex(wire)
  }

  /// Archives everything.
  public func encode(with coder: NSCoder) { coder.encode(wire: wire, forKey: "NotificationInfo") }

  /// Always true.
  public static var supportsSecureCoding: Bool { true }
  /// A push of its own with the same parts.
  public func copy(with zone: NSZone? = nil) -> Any { CKNotificationInfo(wire: wire) }

  /// Whether the other object says and does the same.
  public override func isEqual(_ object: Any?) -> Bool { (object as? CKNotificationInfo)?.wire == wire }
  /// Equal for equal pushes.
  public override var hash: Int { wire.hashValue }
}

extension NSCoder {
  /// Archives words of the wire in the wire's own spelling, which loses nothing.
  func encode(wire value: some Encodable, forKey key: String) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    // What came off the wire, and what was built for it, is always encodable.
    guard let data = try? encoder.encode(value) else { preconditionFailure("\(key) could not be archived.") }
    encode(NSData(data: data), forKey: key)
  }

  /// Reads archived words of the wire; nil where they are absent or damaged.
  func wire<Value: Decodable>(_ type: Value.Type, forKey key: String) -> Value? {
    object(NSData.self, forKey: key).flatMap { try? JSONDecoder().decode(type, from: Data(referencing: $0)) }
  }
}

extension Array {
  /// The array itself where it has elements.
  fileprivate var presence: Self? { isEmpty ? nil : self }
}
