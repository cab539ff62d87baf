import JSONText

/// The documented keys of request bodies, and those that clients of the framework need and no source documents. [C]
///
/// The service ignores all other keys, so a misspelled key has no effect [L3]. `rejectsUnknownKeys` finds such keys.
/// (reference 7.7)
enum RequestKeys {
  private indirect enum Shape: Sendable {
    case any
    case object([String: Shape])
    case list(Shape)
    /// An object whose keys are arbitrary names.
    case named(Shape)
  }

  /// Rejects a body with an unknown key, and names the first. [E]
  static func check(_ body: JSONObject, of operation: Route.Operation) throws(ServerError) {
    guard let shape = shapes[operation] else { return }
    if let key = unknownKey(in: .object(body), shape) { throw .badRequest("Unknown key '\(key)'") }
  }

  private static func unknownKey(in json: JSON, _ shape: Shape) -> String? {
    switch (shape, json) {
    case (.object(let known), .object(let object)):
      for member in object.members {
        guard let shape = known[member.key] else { return member.key }
        if let key = unknownKey(in: member.value, shape) { return "\(member.key).\(key)" }
      }
    case (.list(let shape), .array(let elements)):
      for element in elements {
        if let key = unknownKey(in: element, shape) { return key }
      }
    case (.named(let shape), .object(let object)):
      for member in object.members {
        if let key = unknownKey(in: member.value, shape) { return "\(member.key).\(key)" }
      }
    default: break
    }
    return nil
  }

  /// Returns the shape of an object with these keys, separated by blanks, and others with a shape of their own.
  private static func object(_ plain: String = "", and others: [String: Shape] = [:]) -> Shape {
    .object(plain.split(whereSeparator: \.isWhitespace).reduce(into: others) { $0[String($1)] = .any })
  }

  private static let zoneID = object("zoneName ownerRecordName ownerName zoneType")
  private static let fieldValue = object("value type isEncrypted")
  private static let query = object(
    "recordType",
    and: [
      "filterBy": .list(
        object("comparator fieldName systemFieldName distance", and: ["fieldValue": fieldValue])
      ),
      "sortBy": .list(object("fieldName systemFieldName ascending relativeLocation")),
    ]
  )
  /// Includes the keys of responses, because some clients send back records that they have read.
  private static let record = object(
    """
    recordName recordType recordChangeTag parent createShortGUID share publicPermission participants pluginFields
    created modified deleted shortGUID
    """,
    and: ["fields": .named(fieldValue), "zoneID": zoneID, "forRecord": object("recordName recordChangeTag")]
  )
  private static let subscription = object(
    "subscriptionID subscriptionType zoneWide firesOn firesOnce",
    and: [
      "zoneID": zoneID, "query": query,
      // The second half has texts of the framework's alerts. [FW]
      "notificationInfo": object(
        """
        alertBody alertLocalizationKey alertLocalizationArgs alertActionLocalizationKey alertLaunchImage soundName
        shouldBadge shouldSendContentAvailable additionalFields category
        title titleLocalizationKey titleLocalizationArgs subtitle subtitleLocalizationKey subtitleLocalizationArgs
        collapseIdKey shouldSendMutableContent
        """
      ),
    ]
  )
  private static let person = object("emailAddress phoneNumber userRecordName")
  private static let shortGUIDs = object(
    and: ["shortGUIDs": .list(object("value shouldFetchRootRecord rootRecordDesiredKeys"))]
  )

  private static let shapes: [Route.Operation: Shape] = [
    .recordsQuery: object(
      "zoneWide resultsLimit continuationMarker desiredKeys numbersAsStrings numberAsStrings",
      and: ["query": query, "zoneID": zoneID]
    ),
    .recordsLookup: object(
      "desiredKeys numbersAsStrings numberAsStrings",
      and: ["records": .list(object("recordName desiredKeys")), "zoneID": zoneID]
    ),
    .recordsModify: object(
      "atomic desiredKeys numbersAsStrings numberAsStrings",
      and: ["operations": .list(object("operationType desiredKeys", and: ["record": record])), "zoneID": zoneID]
    ),
    .recordsChanges: object(
      "syncToken resultsLimit desiredKeys numbersAsStrings numberAsStrings",
      and: ["zoneID": zoneID]
    ),
    .recordsResolve: shortGUIDs, .recordsAccept: shortGUIDs,
    // For a later page, as in changes/database. [E]
    .zonesList: object("syncToken"),
    .zonesLookup: object(
      and: ["zones": .list(object("zoneName ownerRecordName ownerName zoneType", and: ["zoneID": zoneID]))]
    ),
    .zonesModify: object(
      and: [
        "operations": .list(
          object("operationType", and: ["zone": object("syncToken atomic", and: ["zoneID": zoneID])])
        )
      ]
    ),
    .zonesChanges: object("metaSyncToken resultsLimit"),
    .changesDatabase: object("syncToken resultsLimit"),
    .changesZone: object(
      "desiredKeys desiredRecordTypes reverse resultsLimit numbersAsStrings numberAsStrings",
      and: [
        "zones": .list(
          object(
            "syncToken desiredKeys desiredRecordTypes reverse resultsLimit numbersAsStrings numberAsStrings",
            and: ["zoneID": zoneID]
          )
        )
      ]
    ),
    .assetsUpload: object(
      and: ["tokens": .list(object("recordType fieldName recordName")), "zoneID": zoneID]
    ),
    .assetsRereference: object(and: ["assets": .list(object("recordName fieldName")), "zoneID": zoneID]),
    .subscriptionsList: object(),
    .subscriptionsLookup: object(and: ["subscriptions": .list(object("subscriptionID"))]),
    .subscriptionsModify: object(
      and: ["operations": .list(object("operationType", and: ["subscription": subscription]))]
    ),
    .tokensCreate: object("apnsEnvironment clientId"),
    .tokensRegister: object("apnsEnvironment apnsToken clientId"),
    .usersCaller: object(), .usersCurrent: object(), .usersLookupContacts: object(),
    .usersDiscover: object(and: ["lookupInfos": .list(person)]),
    .usersLookupEmail: object(and: ["users": .list(person)]),
    .usersLookupID: object(and: ["users": .list(person)]),
  ]
}
