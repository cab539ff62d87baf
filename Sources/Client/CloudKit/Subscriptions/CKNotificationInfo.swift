public import Foundation
internal import Synchronization

/// The contents and behavior of a subscription's pushes. Use it by its name `CKSubscription.NotificationInfo`.
///
/// `@unchecked Sendable`: a lock protects all mutable state.
public final class CKNotificationInfo: NSObject, CKArchivable, NSCopying, @unchecked Sendable {
  fileprivate let state: Mutex<WireNotificationInfo>

  var wire: WireNotificationInfo { state.withLock { $0 } }

  /// Creates an empty push.
  public override convenience init() { self.init(wire: WireNotificationInfo()) }

  init(wire: WireNotificationInfo) { state = Mutex(wire) }

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
  @CKPushProperty(\.alertBody) public var alertBody: String?

  /// The localization key of the alert's text in the app.
  @CKPushProperty(\.alertLocalizationKey) public var alertLocalizationKey: String?

  /// The fields whose values are inserted into the localized text.
  @CKPushProperty(\.alertLocalizationArgs) public var alertLocalizationArgs: [CKRecord.FieldKey]?

  /// The localization key of the action button's text in the app.
  @CKPushProperty(\.alertActionLocalizationKey) public var alertActionLocalizationKey: String?

  /// The image to show while the app launches from the alert.
  @CKPushProperty(\.alertLaunchImage) public var alertLaunchImage: String?

  /// The title of the alert.
  @CKPushProperty(\.title) public var title: String?

  /// The localization key of the title in the app.
  @CKPushProperty(\.titleLocalizationKey) public var titleLocalizationKey: String?

  /// The fields whose values are inserted into the localized title.
  @CKPushProperty(\.titleLocalizationArgs) public var titleLocalizationArgs: [CKRecord.FieldKey]?

  /// The subtitle of the alert.
  @CKPushProperty(\.subtitle) public var subtitle: String?

  /// The localization key of the subtitle in the app.
  @CKPushProperty(\.subtitleLocalizationKey) public var subtitleLocalizationKey: String?

  /// The fields whose values are inserted into the localized subtitle.
  @CKPushProperty(\.subtitleLocalizationArgs) public var subtitleLocalizationArgs: [CKRecord.FieldKey]?

  /// The sound to play.
  @CKPushProperty(\.soundName) public var soundName: String?

  /// The fields to copy into the push; at most three on Apple's server.
  @CKPushProperty(\.additionalFields) public var desiredKeys: [CKRecord.FieldKey]?

  /// The category of actions that the alert offers.
  @CKPushProperty(\.category) public var category: String?

  /// The field used as collapse ID: a push replaces earlier pushes with the same value.
  @CKPushProperty(\.collapseIdKey) public var collapseIDKey: String?

  /// Whether the push increments the app's badge.
  @CKPushProperty(\.shouldBadge.orFalse) public var shouldBadge: Bool

  /// Whether the push wakes the app without notifying the user.
  @CKPushProperty(\.shouldSendContentAvailable.orFalse) public var shouldSendContentAvailable: Bool

  /// Whether the app may change the push before it is shown.
  @CKPushProperty(\.shouldSendMutableContent.orFalse) public var shouldSendMutableContent: Bool

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

/// A property of a push. Any thread can get and set it.
///
/// It is public because a property wrapper must be as visible as its properties. See `CKParameter` for the subscript.
@propertyWrapper
public struct CKPushProperty<Value: Sendable> {
  private let part: any WritableKeyPath<WireNotificationInfo, Value> & Sendable

  init(_ part: any WritableKeyPath<WireNotificationInfo, Value> & Sendable) { self.part = part }

  /// Never used: only pushes have such properties.
  @available(*, unavailable) public var wrappedValue: Value {
    get { preconditionFailure("Only pushes have such properties.") }
    set { preconditionFailure("Only pushes have such properties.") }
  }

  /// The value in a push.
  public static subscript(
    _enclosingInstance info: CKNotificationInfo,
    wrapped _: ReferenceWritableKeyPath<CKNotificationInfo, Value>,
    storage storage: ReferenceWritableKeyPath<CKNotificationInfo, Self>
  ) -> Value {
    get { info.state.withLock { $0[keyPath: info[keyPath: storage].part] } }
    set { info.state.withLock { $0[keyPath: info[keyPath: storage].part] = newValue } }
  }
}

extension Bool? {
  fileprivate var orFalse: Bool {
    get { self ?? false }
    set { self = newValue }
  }
}

extension Array {
  /// The array itself; nil if it is empty.
  fileprivate var presence: Self? { isEmpty ? nil : self }
}
