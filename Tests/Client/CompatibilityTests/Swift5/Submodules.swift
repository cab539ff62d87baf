import CloudKit.CKRecord
import CloudKit.CKServerChangeToken
import CloudKit.CKSubscription

// Importing single headers of Apple's framework brings all of it.

extension CKServerChangeToken {
  func asString() -> String? {
    let data = try? NSKeyedArchiver.archivedData(withRootObject: self, requiringSecureCoding: false)
    return data?.base64EncodedString()
  }
}

extension CKRecord {
  convenience init?(data: Data) {
    do {
      let coder = try NSKeyedUnarchiver(forReadingFrom: data)
      coder.requiresSecureCoding = true
      self.init(coder: coder)
      coder.finishDecoding()
    } catch {
      return nil
    }
  }

  var encodedSystemFields: Data {
    let coder = NSKeyedArchiver(requiringSecureCoding: true)
    self.encodeSystemFields(with: coder)
    return coder.encodedData
  }

  func value<T>(for key: String) -> T? {
    let fieldValue = self[key]
    if T.self == String.self, let reference = fieldValue as? CKRecord.Reference {
      return reference.recordID.recordName as? T
    }
    return fieldValue as? T
  }
}

func silentSubscription(for scope: CKDatabase.Scope) -> CKDatabaseSubscription {
  let subscription = CKDatabaseSubscription(subscriptionID: "Example-\(scope.name)")
  let notification = CKSubscription.NotificationInfo()
  notification.shouldSendContentAvailable = true
  subscription.notificationInfo = notification
  return subscription
}

extension CKDatabase.Scope {
  var name: String {
    switch self {
    case .private: return "private"
    case .shared: return "shared"
    case .public: return "public"
    @unknown default: return "unknown"
    }
  }
}
