public import Foundation
internal import Synchronization

/// The contents and behavior of a subscription's pushes. Use it by its name `CKSubscription.NotificationInfo`.
///
/// `@unchecked Sendable`: a lock protects all mutable state.
public final class CKNotificationInfo: NSObject, CKArchivable, NSCopying, @unchecked Sendable {
  private let state: Mutex<WireNotificationInfo>

  var wire: WireNotificationInfo { state.withLock { $0 } }

  /// Creates an empty push.
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

  /// Creates a push with all of its properties.
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

  /// The localization key of the alert's text in the app.
  public var alertLocalizationKey: String? {
    get { self[\.alertLocalizationKey] }
    set { assign(\.alertLocalizationKey, newValue) }
  }

  /// The fields whose values are inserted into the localized text.
  public var alertLocalizationArgs: [CKRecord.FieldKey]? {
    get { self[\.alertLocalizationArgs] }
    set { assign(\.alertLocalizationArgs, newValue) }
  }

  /// The localization key of the action button's text in the app.
  public var alertActionLocalizationKey: String? {
    get { self[\.alertActionLocalizationKey] }
    set { assign(\.alertActionLocalizationKey, newValue) }
  }

  /// The image to show while the app launches from the alert.
  public var alertLaunchImage: String? {
    get { self[\.alertLaunchImage] }
    set { assign(\.alertLaunchImage, newValue) }
  }

  /// The title of the alert.
  public var title: String? {
    get { self[\.title] }
    set { assign(\.title, newValue) }
  }

  /// The localization key of the title in the app.
  public var titleLocalizationKey: String? {
    get { self[\.titleLocalizationKey] }
    set { assign(\.titleLocalizationKey, newValue) }
  }

  /// The fields whose values are inserted into the localized title.
  public var titleLocalizationArgs: [CKRecord.FieldKey]? {
    get { self[\.titleLocalizationArgs] }
    set { assign(\.titleLocalizationArgs, newValue) }
  }

  /// The subtitle of the alert.
  public var subtitle: String? {
    get { self[\.subtitle] }
    set { assign(\.subtitle, newValue) }
  }

  /// The localization key of the subtitle in the app.
  public var subtitleLocalizationKey: String? {
    get { self[\.subtitleLocalizationKey] }
    set { assign(\.subtitleLocalizationKey, newValue) }
  }

  /// The fields whose values are inserted into the localized subtitle.
  public var subtitleLocalizationArgs: [CKRecord.FieldKey]? {
    get { self[\.subtitleLocalizationArgs] }
    set { assign(\.subtitleLocalizationArgs, newValue) }
  }

  /// The sound to play.
  public var soundName: String? {
    get { self[\.soundName] }
    set { assign(\.soundName, newValue) }
  }

  /// The fields to copy into the push; at most three on Apple's server.
  public var desiredKeys: [CKRecord.FieldKey]? {
    get { self[\.additionalFields] }
    set { assign(\.additionalFields, newValue) }
  }

  /// The category of actions that the alert offers.
  public var category: String? {
    get { self[\.category] }
    set { assign(\.category, newValue) }
  }

  /// The field used as collapse ID: a push replaces earlier pushes with the same value.
  public var collapseIDKey: String? {
    get { self[\.collapseIdKey] }
    set { assign(\.collapseIdKey, newValue) }
  }

  /// Whether the push increments the app's badge.
  public var shouldBadge: Bool {
    get { self[\.shouldBadge] ?? false }
    set { assign(\.shouldBadge, newValue) }
  }

  /// Whether the push wakes the app without notifying the user.
  public var shouldSendContentAvailable: Bool {
    get { self[\.shouldSendContentAvailable] ?? false }
    set { assign(\.shouldSendContentAvailable, newValue) }
  }

  /// Whether the app may change the push before it is shown.
  public var shouldSendMutableContent: Bool {
    get { self[\.shouldSendMutableContent] ?? false }
    set { assign(\.shouldSendMutableContent, newValue) }
  }

  /// Decodes an archived push; nil if there is none.
  public init?(coder: NSCoder) {
    guard let wire = coder.wire(WireNotificationInfo.self, forKey: "NotificationInfo") else { return nil }
    state = Mutex(wire)
  }

  /// Archives the push.
  public func encode(with coder: NSCoder) { coder.encode(wire: wire, forKey: "NotificationInfo") }

  /// Returns a copy of the push.
  public func copy(with zone: NSZone? = nil) -> Any { CKNotificationInfo(wire: wire) }

  /// Whether the other object has equal properties.
  public override func isEqual(_ object: Any?) -> Bool { (object as? CKNotificationInfo)?.wire == wire }
  /// A hash value that is equal for equal pushes.
  public override var hash: Int { wire.hashValue }
}

extension Array {
  /// The array itself; nil if it is empty.
  fileprivate var presence: Self? { isEmpty ? nil : self }
}
