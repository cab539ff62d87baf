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
      default: true
      }
    }
    let clause = conformances.isEmpty ? "" : ": " + conformances.map(\.trimmedDescription).joined(separator: ", ")
    let members = [
      recordType.map { block("\(access)static var recordType: Swift.String", [$0]) },
      block("\(access)static var recordNameKey: Swift.String", ["\"\(identity?.fieldName ?? "recordName")\""]),
      assets.isEmpty ? nil : assetKeys,
      references.isEmpty ? nil : referenceActions,
      systemKeys.isEmpty ? nil : systemValues,
      fieldList,
      queryKeys(type.trimmedDescription),
      fieldProperties(type.trimmedDescription),
      makesCodingKeys ? codingKeys : nil,
      makesDecoding && !isClass ? decoding : nil,
      makesEncoding ? encoding : nil,
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

  private func fieldProperties(_ type: String) -> String {
    let root = isClass ? type : "Self"
    let pairs = fields.map { ".\($0.property.written): \\\(root).\($0.property.written)" }
    return block(
      "\(access)static var fieldProperties: [Fields: Swift.PartialKeyPath<\(root)>]",
      pairs.isEmpty ? ["[:]"] : ["[", pairs.joined(separator: ",\n").indented, "]"]
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

  private func fallback(of key: Key) -> String {
    let property = key.property
    guard !property.isOptional, property.name != identity?.property.name, let value = property.initialValue else {
      return ""
    }
    return ", default: \(value.trimmedDescription)"
  }

  private var encoding: String {
    let lines = keys.map { key in
      "try fields.write(self.\(key.property.written), for: .\(key.property.written))"
    }
    return block(
      "\(access)func encode(to encoder: any Swift.Encoder) throws",
      ["var fields = CloudKitModels.CKFieldWriter(encoder, keyedBy: CodingKeys.self)"] + lines
    )
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
