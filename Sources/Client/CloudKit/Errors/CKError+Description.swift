extension CKError: CustomStringConvertible {
  /// The error in the form of Apple's logs, such as
  /// `<CKError 0x7f1c: "Unknown Item" (11/2003); server message = "Record not found">`.
  ///
  /// The server's text and the names of records are escaped. Credentials are in none of the parts.
  public var description: String {
    let address = String(UInt(bitPattern: ObjectIdentifier(_nsError)), radix: 16)
    let number = internalCode.map { "\(_nsError.code)/\($0)" } ?? "\(_nsError.code)"
    var parts = ["<CKError 0x\(address): \"\(code.title)\" (\(number))"]
    if let reason = serverReason, !reason.isEmpty {
      parts.append("server message = \"\(Self.escaped(reason))\"")
    } else if serverErrorCode == nil, let message = userInfo[NSLocalizedDescriptionKey] as? String {
      parts.append("\"\(Self.escaped(message))\"")
    }
    if let serverErrorCode { parts.append("server code = \(Self.escaped(serverErrorCode))") }
    if let retryAfterSeconds { parts.append("Retry after \(retryAfterSeconds) seconds") }
    if let errors = partialErrorsByItemID { parts.append("partial errors: \(Self.text(of: errors))") }
    return parts.joined(separator: "; ") + ">"
  }

  /// The number after the slash, where logs of Apple's systems that are public show one for the same answer of the
  /// server; nil for other errors. Examples are in Apple's TN3162, and in SyncKit's issues 49 and 111.
  private var internalCode: Int? {
    switch code {
    case .partialFailure: 1011
    case _ where serverErrorCode == nil: nil
    case .notAuthenticated: 1002
    case .unknownItem: 2003
    case .serverRecordChanged: 2004
    case .invalidArguments: 2006
    case .permissionFailure: 2007
    case .requestRateLimited: 2008
    case .serviceUnavailable: 2022
    case .limitExceeded: 2023
    case .batchRequestFailed: 2024
    case .changeTokenExpired: 2026
    case .quotaExceeded: 2035
    case .zoneNotFound: 2036
    default: nil
    }
  }

  /// The errors of the items in the order of their names. Those that only followed from another's are counted.
  private static func text(of errors: [AnyHashable: any Error]) -> String {
    let followed = errors.values.count { ($0 as? CKError)?.code == .batchRequestFailed }
    var lines = errors.filter { ($0.value as? CKError)?.code != .batchRequestFailed || followed == errors.count }
      .map { "\(name(of: $0.key.base)) = \($0.value)" }.sorted()
    if followed > 0, followed < errors.count {
      lines.append("... \(followed) \"\(Code.batchRequestFailed.title)\" CKErrors omitted ...")
    }
    return "{\n" + lines.map { "\t\($0)\n" }.joined() + "}"
  }

  private static func name(of item: Any) -> String {
    let name =
      switch item {
      case let id as CKRecordID: "\(id.recordName):(\(id.zoneID.zoneName):\(id.zoneID.ownerName))"
      case let id as CKRecordZoneID: "\(id.zoneName):\(id.ownerName)"
      default: "\(item)"
      }
    return escaped(name)
  }

  /// Replaces the characters that control a terminal.
  private static func escaped(_ text: String) -> String {
    text.unicodeScalars.map { $0.properties.generalCategory == .control ? $0.escaped(asASCII: true) : String($0) }
      .joined()
  }
}

extension CKError.Code {
  /// The name in words, such as `Unknown Item`.
  fileprivate var title: String {
    "\(self)".reduce(into: "") { title, letter in
      if title.isEmpty {
        title = letter.uppercased()
      } else {
        title += (letter.isUppercase ? " " : "") + String(letter)
      }
    }
  }
}
