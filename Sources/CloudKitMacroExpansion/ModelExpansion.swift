internal import SwiftSyntax
internal import SwiftSyntaxBuilder

/// The generated source. Names of other modules are qualified, because the type may have members of the same name.
extension ModelDeclaration {
  /// Returns the extension with the conformances that the type lacks.
  func extended(_ type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax]) throws -> ExtensionDeclSyntax {
    let conformances = protocols.filter { conformance in
      switch conformance.lastName {
      case "Identifiable": isIdentifiable
      case "Decodable": isDecodable
      case "Encodable": isEncodable
      case "CKFieldReadable": makesDecoding
      case "CKFieldWritable": makesEncoding
      default: true
      }
    }
    let clause = conformances.isEmpty ? "" : ": " + conformances.map(\.trimmedDescription).joined(separator: ", ")
    let members = [
      recordType.map { block("\(access)static var recordType: Swift.String", ["\"\($0)\""]) },
      block("\(access)static var recordNameKey: Swift.String", ["\"\(identity?.fieldName ?? "recordName")\""]),
      assets.isEmpty ? nil : assetKeys,
      references.isEmpty ? nil : referenceActions,
      systemKeys.isEmpty ? nil : systemValues,
      fieldList,
      queryKeys(type.trimmedDescription),
      makesCodingKeys ? codingKeys : nil,
      makesDecoding && !isClass ? decoding : nil,
      makesDecoding && !isClass ? reading : nil,
      makesEncoding ? encoding : nil,
      makesEncoding ? writing : nil,
    ]
    return try ExtensionDeclSyntax(
      """
      extension \(type.trimmed)\(raw: clause) {
      \(raw: members.compactMap { $0?.indented }.joined(separator: "\n\n"))
      }
      """
    )
  }

  private var fieldList: String {
    block("\(access)enum Fields: Swift.String, CloudKitModels.CKRecordFields", fields.map(\.asCase))
  }

  private var assetKeys: String {
    let names = assets.map { "\"\($0.fieldName)\"" }.joined(separator: ", ")
    return block("\(access)static var assetKeys: Swift.Set<Swift.String>", ["[\(names)]"])
  }

  private var referenceActions: String {
    let actions = references.map { "\"\($0.fieldName)\": \($0.property.referenceAction ?? "")" }.joined(separator: ", ")
    return block("\(access)static var referenceActions: CloudKitModels.CKReferenceActions", ["[\(actions)]"])
  }

  private var systemValues: String {
    let values = systemKeys.map { "\"\($0.key.fieldName)\": .\($0.value)" }.joined(separator: ", ")
    let type = "[Swift.String: CloudKitModels.CKSystemValue]"
    return block("\(access)static var systemKeys: \(type)", ["[\(values)]"])
  }

  private func queryKeys(_ type: String) -> String {
    // A class cannot have `Self` in a parameter.
    let root = isClass ? type : "Self"
    let names = fields.map { ($0, $0.fieldName) } + systemKeys.compactMap { key in key.queryKey.map { (key.key, $0) } }
    let cases = names.map { key, name in "case \\\(root).\(key.property.written):\n  \"\(name)\"" }
    return block(
      "\(access)static func queryKey(for property: Swift.PartialKeyPath<\(root)>) -> Swift.String?",
      ["switch property {"] + cases + ["default:\n  nil", "}"]
    )
  }

  private var codingKeys: String {
    block("private enum CodingKeys: Swift.String, Swift.CodingKey", keys.map(\.asCase))
  }

  /// The initializer that decodes each property. A property with a default value keeps it if the record lacks the
  /// field.
  var decoding: String {
    let lines = keys.map { key in
      "self.\(key.property.written) = try fields.value(.\(key.property.written)\(fallback(of: key)))"
    }
    return block(
      "\(access)init(from decoder: any Swift.Decoder) throws",
      ["let fields = try CloudKitModels.CKFieldReader(decoder, keyedBy: CodingKeys.self)"] + lines
    )
  }

  /// The initializer that does the same without coding.
  var reading: String {
    let lines = keys.map { key in
      let role = role(of: key)
      let value = "\(role)\"\(key.fieldName)\"\(role.isEmpty ? fallback(of: key) : "")"
      return "self.\(key.property.written) = try fields.value(\(value))"
    }
    return block("\(access)init(fields: CloudKitModels.CKFieldSource) throws", lines)
  }

  private func fallback(of key: Key) -> String {
    let property = key.property
    guard !property.isOptional, property.name != identity?.property.name, let value = property.initialValue else {
      return ""
    }
    return ", default: \(value.trimmedDescription)"
  }

  private var encoding: String {
    // `encodeIfPresent` also accepts values that are not optional.
    let lines = keys.map { key in
      "try container.encodeIfPresent(self.\(key.property.written), forKey: .\(key.property.written))"
    }
    return block(
      "\(access)func encode(to encoder: any Swift.Encoder) throws",
      ["var container = encoder.container(keyedBy: CodingKeys.self)"] + lines
    )
  }

  private var writing: String {
    let lines = keys.map { key in
      let label = key.property.isAsset ? "special: " : role(of: key)
      return "try fields.write(\(label)self.\(key.property.written), for: \"\(key.fieldName)\")"
    }
    return block("\(access)func write(to fields: inout CloudKitModels.CKFieldWriter) throws", lines)
  }

  /// The label of the argument for a property that is not a field; empty for one that is.
  private func role(of key: Key) -> String {
    if key.fieldName == identity?.fieldName ?? "recordName" { return "identity: " }
    return systemKeys.contains { $0.key.fieldName == key.fieldName } ? "special: " : ""
  }

  private func block(_ head: String, _ lines: [String]) -> String {
    "\(head) {\n\(lines.joined(separator: "\n").indented)\n}"
  }
}

extension ModelDeclaration.Key {
  fileprivate var asCase: String {
    property.name == fieldName ? "case \(property.written)" : "case \(property.written) = \"\(fieldName)\""
  }
}

extension String {
  fileprivate var indented: String {
    split(separator: "\n", omittingEmptySubsequences: false).map { $0.isEmpty ? "" : "  \($0)" }.joined(separator: "\n")
  }
}
