public import Foundation

/// A push about changes: a hint to go and read them, since pushes may be lost, pruned or joined into one.
///
/// `CKNotification(fromRemoteNotificationDictionary:)` gives the kind that the push is: cast it, or look at
/// `notificationType`.
///
/// `@unchecked Sendable`, since the compiler does not check what can be subclassed: all of it is immutable.
open class CKNotification: NSObject, CKNotificationParsing, @unchecked Sendable {
  /// A notification's identity.
  public typealias ID = CKNotificationID

  /// The kinds of notification, with Apple's numbers.
  public enum NotificationType: Int, Sendable {
    /// A record that a query subscription watches: `CKQueryNotification`.
    case query = 1
    /// A zone that a zone subscription watches: `CKRecordZoneNotification`.
    case recordZone = 2
    /// Told that another device read a notification; never sent by Web Services.
    case readNotification = 3
    /// A database that a database subscription watches: `CKDatabaseNotification`.
    case database = 4
  }

  let payload: NotificationPayload
  let subject: NotificationPayload.Subject

  /// Which kind this is.
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

  /// The notification's identity; nil where the server gave none.
  open var notificationID: CKNotificationID? { payload.ck.notificationID.map(CKNotificationID.init) }
  /// The container that it is about.
  open var containerIdentifier: String? { payload.ck.container }
  /// Whose subscription fired.
  open var subscriptionOwnerUserRecordID: CKRecord.ID? {
    payload.ck.userRecordName.map { CKRecordID(recordName: $0) }
  }
  /// Whether parts were left out because the push would have been too large.
  open var isPruned: Bool { payload.ck.isPruned }
  /// The subscription that fired; nil where it was left out.
  open var subscriptionID: CKSubscription.ID? { subject.sid }

  private var text: NotificationPayload.Alert.Text? { payload.aps?.body }

  /// The text of the alert.
  open var alertBody: String? { text?.body }
  /// The key of the alert's text in the app's localizations.
  open var alertLocalizationKey: String? { text?.localizationKey }
  /// The values that are put into the localized text.
  open var alertLocalizationArgs: [String]? { text?.localizationArgs }
  /// The key of the action button's text in the app's localizations.
  open var alertActionLocalizationKey: String? { text?.actionLocalizationKey }
  /// The image shown while the app starts from the alert.
  open var alertLaunchImage: String? { text?.launchImage }
  /// The title of the alert.
  open var title: String? { text?.title }
  /// The key of the title in the app's localizations.
  open var titleLocalizationKey: String? { text?.titleLocalizationKey }
  /// The values that are put into the localized title.
  open var titleLocalizationArgs: [String]? { text?.titleLocalizationArgs }
  /// The subtitle of the alert.
  open var subtitle: String? { text?.subtitle }
  /// The key of the subtitle in the app's localizations.
  open var subtitleLocalizationKey: String? { text?.subtitleLocalizationKey }
  /// The values that are put into the localized subtitle.
  open var subtitleLocalizationArgs: [String]? { text?.subtitleLocalizationArgs }
  /// The number for the app's badge.
  open var badge: NSNumber? { payload.aps?.badge.map(NSNumber.init(value:)) }
  /// The sound that is played.
  open var soundName: String? { payload.aps?.soundName }
  /// The group of actions that the alert offers.
  open var category: String? { payload.aps?.category }

  /// The kind and the subscription; never what the push says.
  public override var description: String { "<\(type(of: self)) of \(subject.sid ?? "an unnamed subscription")>" }

  /// The notification that a payload is; nil where it is none of CloudKit's.
  static func notification(_ payload: NotificationPayload) -> CKNotification? {
    if let subject = payload.ck.query { return CKQueryNotification(.query, payload, subject) }
    if let subject = payload.ck.zone { return CKRecordZoneNotification(.recordZone, payload, subject) }
    if let subject = payload.ck.database { return CKDatabaseNotification(.database, payload, subject) }
    return nil
  }

  /// The notification that a push's JSON is; nil where it is none of CloudKit's.
  static func notification(json: Data) -> CKNotification? {
    (try? JSONDecoder().decode(NotificationPayload.self, from: json)).flatMap { notification($0) }
  }
}

/// Reads notifications. Only an initializer of a protocol can hand out an object of a class below the one it is called on.
public protocol CKNotificationParsing {}

extension CKNotificationParsing {
  /// Reads the body of a push, such as the `userInfo` that an app is given, or the JSON of the web courier.
  ///
  /// Nil where it is no push of CloudKit's, or of another kind than the class that is asked for.
  public init?(fromRemoteNotificationDictionary notificationDictionary: [AnyHashable: Any]) {
    guard
      JSONSerialization.isValidJSONObject(notificationDictionary),
      let json = try? JSONSerialization.data(withJSONObject: notificationDictionary),
      let notification = CKNotification.notification(json: json) as? Self
    else { return nil }
    self = notification
  }
}
