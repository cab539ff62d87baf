import Foundation
import JSONText

/// The upload or download of one file over plain HTTP, without credentials and without the service's error format.
/// (reference 5.9) [L3]
enum AssetTransfer {
  /// The maximum number of bytes that `multipart/form-data` may add to a file.
  static let wrapping = 64 * 1024

  case upload(AssetUpload)
  case download(id: String, expires: Int64, isSealed: Bool)

  init?(_ request: EmulatorRequest, configuration: EmulatorConfiguration) {
    if request.path.hasPrefix(AssetPath.upload) {
      var upload = AssetUpload(ticket: UploadTicket(request, seal: AssetSeal(configuration)))
      let limit = configuration.assetSizeLimit
      let body = AssetContent(request)
      upload.isTooLarge = body.count > limit + Self.wrapping
      if !upload.isTooLarge {
        do throws(Spool.Failure) {
          upload.content = try Self.content(body, of: request)
          upload.isTooLarge = upload.content?.count ?? 0 > limit
          if let ticket = upload.ticket, let content = upload.content, !upload.isTooLarge {
            upload.asset = try EmulatorAsset(content, upload: ticket.id)
          }
        } catch {
          upload.isUnreadable = true
        }
      }
      self = .upload(upload)
    } else if request.path.hasPrefix(AssetPath.download) {
      let id = request.path.dropFirst(AssetPath.download.count).prefix { $0 != "/" }
      let query = QueryString.values(request.query)
      let seal = AssetSeal(configuration)
      let expires = query["e"].flatMap { Int64($0) } ?? 0
      let isSealed = seal.isSigned("\(id)/\(expires)", query["s"] ?? "")
      self = .download(id: String(id), expires: expires, isSealed: isSealed)
    } else {
      return nil
    }
  }

  var name: String {
    switch self {
    case .upload: "upload"
    case .download: "download"
    }
  }

  var method: String {
    switch self {
    case .upload: "POST"
    case .download: "GET"
    }
  }

  /// Returns the body, or the part named `files` of a form; `nil` for a form without it. [C]
  private static func content(
    _ body: AssetContent,
    of request: EmulatorRequest
  ) throws(Spool.Failure) -> AssetContent? {
    let type = request.header("content-type") ?? ""
    guard type.lowercased().hasPrefix("multipart/form-data") else { return body }
    guard let form = MultipartForm(contentType: type) else { return nil }
    return try body.part(named: "files", of: form)
  }
}

/// The data received at an upload URL.
struct AssetUpload {
  var ticket: UploadTicket?
  var content: AssetContent?
  var asset: EmulatorAsset?
  var isTooLarge = false
  /// Whether the received bytes cannot be read again.
  var isUnreadable = false
}

extension EmulatorCore {
  /// Handles an upload or download.
  func execute(_ transfer: AssetTransfer, _ exchange: Exchange) -> EmulatorReply {
    handle(exchange) { (exchange) throws(Refusal) in
      try gate.admit(&exchange)
      guard exchange.request.method == transfer.method else {
        throw .page(405, headers: [EmulatorHeader("Allow", transfer.method)])
      }
      switch transfer {
      case .upload(let upload):
        let receipt = try take(upload, at: Timestamps.milliseconds(exchange.time))
        return gate.respond(exchange, json: ["singleFile": .object(receipt.json(world.seal))])
      case .download(let id, let expires, let isSealed):
        guard isSealed else { throw .page(403) }
        guard exchange.time < Date(timeIntervalSince1970: Double(expires)), world.assets.holds(id) else {
          throw .page(410)
        }
        let size = world.store.size(ofAsset: id)
        guard world.store.takeFailure() == nil, let size else { throw .page(500) }
        return gate.respond(exchange, .bytes, asset: StoredAsset(id: id, size: size))
      }
    }
  }

  /// Stores an uploaded file, and returns the receipt.
  private func take(_ upload: AssetUpload, at time: Int64) throws(Refusal) -> AssetReceipt {
    guard !upload.isTooLarge else { throw .page(413) }
    // The statuses of the real host are unknown. [E]
    guard let ticket = upload.ticket else { throw .page(403) }
    guard time < ticket.expires else { throw .page(410) }
    guard !upload.isUnreadable else { throw .page(500) }
    guard let content = upload.content, let asset = upload.asset else { throw .page(400) }
    world.assets.makeRoom(for: asset.id, upload: ticket.id)
    world.collectAssets(at: time)
    let weight = world.assets.unusedBytes + AssetShelf.weight(asset.size)
    guard world.assets.holds(asset.id) || weight <= gate.configuration.unusedAssetLimit else { throw .page(503) }
    let expires = time + AssetReceipt.lifetime
    do throws(ServerError) {
      try world.keep(content, as: asset, until: expires, upload: ticket.id)
    } catch {
      throw .page(500, detail: error.detail)
    }
    return AssetReceipt(asset: asset, zone: ticket.zone, target: (ticket.record, ticket.field), expires: expires)
  }
}

extension AssetReceipt {
  /// Returns the dictionary that the client stores in the field.
  func json(_ seal: AssetSeal) -> JSONObject {
    var object = asset.json
    object.append("receipt", .string(text(seal)))
    return object
  }
}
