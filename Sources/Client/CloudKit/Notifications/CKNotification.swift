public import Foundation
import JSONText

/// A push notification about changes. It is only a hint to fetch them, because pushes may be lost, pruned or coalesced.
///
/// `CKNotification(fromRemoteNotificationDictionary:)` returns an instance of the subclass for the kind of push: cast
/// it, or check `notificationType`.
///
/// `@unchecked Sendable`, because the compiler does not check an open class: everything in it is immutable.
open class CKNotification: NSObject, CKNotificationParsing, @unchecked Sendable {
  /// The identifier of a notification.
  public typealias ID = CKNotificationID

  /// The kinds of notification, with Apple's raw values.
  public enum NotificationType: Int, Sendable {
    /// From a query subscription: `CKQueryNotification`.
    case query = 1
    /// From a zone subscription: `CKRecordZoneNotification`.
    case recordZone = 2
    /// Another device read a notification. Web Services never send this.
    case readNotification = 3
    /// From a database subscription: `CKDatabaseNotification`.
    case database = 4
    /// Never used: see "Switches" in the handbook (`Handbook/Client/MovingToAServer.md`).
    @available(*, unavailable) case _unknown = -1
  }

  let payload: NotificationPayload
  let subject: NotificationPayload.Subject

  /// The kind of notification.
  public let notificationType: NotificationType

  init(
    _ notificationType: NotificationType,
    _ payload: NotificationPayload,
    _ subject: NotificationPayload.Subject
  ) {
    self.notificationType = notificationType
    self.payload = payload
    self.subject = subject
  }

  /// The notification's identifier; nil if the server sent none.
  open var notificationID: CKNotificationID? { payload.ck.notificationID.map(CKNotificationID.init) }
  /// The identifier of the container.
  open var containerIdentifier: String? { payload.ck.container }
  /// The ID of the user whose subscription fired.
  open var subscriptionOwnerUserRecordID: CKRecord.ID? {
    payload.ck.userRecordName.map { CKRecordID(recordName: $0) }
  }
  /// Whether parts were removed because the push would have been too large.
  open var isPruned: Bool { payload.ck.isPruned }
  /// The ID of the subscription that fired; nil if it was removed.
  open var subscriptionID: CKSubscription.ID? { subject.sid }

  private var text: NotificationPayload.Alert.Text? { payload.aps?.body }

  /// The text of the alert.
  open var alertBody: String? { text?.body }
  /// The key of the alert's text in the app's localizations.
  open var alertLocalizationKey: String? { text?.localizationKey }
  /// The values for the placeholders in the localized text.
  open var alertLocalizationArgs: [String]? { text?.localizationArgs }
  /// The key of the action button's text in the app's localizations.
  open var alertActionLocalizationKey: String? { text?.actionLocalizationKey }
  /// The launch image to show when the user opens the app from the alert.
  open var alertLaunchImage: String? { text?.launchImage }
  /// The title of the alert.
  open var title: String? { text?.title }
  /// The key of the title in the app's localizations.
  open var titleLocalizationKey: String? { text?.titleLocalizationKey }
  /// The values for the placeholders in the localized title.
  open var titleLocalizationArgs: [String]? { text?.titleLocalizationArgs }
  /// The subtitle of the alert.
  open var subtitle: String? { text?.subtitle }
  /// The key of the subtitle in the app's localizations.
  open var subtitleLocalizationKey: String? { text?.subtitleLocalizationKey }
  /// The values for the placeholders in the localized subtitle.
  open var subtitleLocalizationArgs: [String]? { text?.subtitleLocalizationArgs }
  /// The number for the app's badge.
  open var badge: NSNumber? { payload.aps?.badge.map(NSNumber.init(value:)) }
  /// The name of the sound to play.
  open var soundName: String? { payload.aps?.soundName }
  /// The category of actions that the alert offers.
  open var category: String? { payload.aps?.category }

  /// The kind and the subscription, never the content of the push.
  public override var description: String { "<\(type(of: self)) of \(subject.sid ?? "an unknown subscription")>" }

  /// Returns the notification in a payload; nil if it is not one of CloudKit's.
  static func notification(_ payload: NotificationPayload) -> CKNotification? {
    if let subject = payload.ck.query { return CKQueryNotification(.query, payload, subject) }
    if let subject = payload.ck.zone { return CKRecordZoneNotification(.recordZone, payload, subject) }
    if let subject = payload.ck.database { return CKDatabaseNotification(.database, payload, subject) }
    return nil
  }

  /// Returns the notification in the JSON of a push; nil if it is not one of CloudKit's.
  static func notification(json: Data) -> CKNotification? {
    (try? NotificationPayload(json: json)).flatMap { notification($0) }
  }
}

/// A type that parses notifications. It is a protocol because only a protocol's initializer can return an instance of a
/// subclass.
public protocol CKNotificationParsing {}

extension CKNotificationParsing {
  /// Parses the body of a push, such as the `userInfo` passed to an app or the JSON of the web courier.
  ///
  /// Returns nil if it is not a CloudKit push, or a different kind than this class.
  public init?(fromRemoteNotificationDictionary notificationDictionary: [AnyHashable: Any]) {
    guard
      JSONSerialization.isValidJSONObject(notificationDictionary),
      let json = try? JSONSerialization.data(withJSONObject: notificationDictionary),
      let notification = CKNotification.notification(json: json) as? Self
    else { return nil }
    self = notification
  }
}
