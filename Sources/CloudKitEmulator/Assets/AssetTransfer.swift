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
  func carryOut(_ exchange: Exchange, _ transfer: AssetTransfer) -> EmulatorReply {
    guard exchange.request.method == transfer.method else {
      var reply = respond(exchange, status: 405, html: "Method Not Allowed")
      reply.append(EmulatorHeader("Allow", transfer.method))
      return reply
    }
    switch transfer {
    case .upload(let upload): return take(upload, exchange)
    case .download(let id, let expires, let isSealed):
      guard isSealed else { return respond(exchange, status: 403, html: "Forbidden") }
      guard exchange.time < Date(timeIntervalSince1970: Double(expires)), assets.holds(id) else {
        return respond(exchange, status: 410, html: "Gone")
      }
      let size = store.size(ofAsset: id)
      guard store.takeFailure() == nil, let size else {
        return respond(exchange, status: 500, html: "Internal Server Error")
      }
      return respond(exchange, asset: StoredAsset(id: id, size: size))
    }
  }

  private func take(_ upload: AssetUpload, _ exchange: Exchange) -> EmulatorReply {
    guard !upload.isTooLarge else { return respond(exchange, status: 413, html: "Request Entity Too Large") }
    // The statuses of the real host are unknown. [E]
    guard let ticket = upload.ticket else { return respond(exchange, status: 403, html: "Forbidden") }
    let time = Timestamps.milliseconds(exchange.time)
    guard time < ticket.expires else { return respond(exchange, status: 410, html: "Gone") }
    guard !upload.isUnreadable else { return respond(exchange, status: 500, html: "Internal Server Error") }
    guard let content = upload.content, let asset = upload.asset else {
      return respond(exchange, status: 400, html: "Bad Request")
    }
    assets.makeRoom(for: asset.id, upload: ticket.id)
    collectAssets(at: time)
    let weight = assets.unusedBytes + AssetShelf.weight(asset.size)
    guard assets.holds(asset.id) || weight <= configuration.unusedAssetLimit else {
      return respond(exchange, status: 503, html: "Service Unavailable")
    }
    let receipt = AssetReceipt(
      asset,
      zone: ticket.zone,
      target: (ticket.record, ticket.field),
      expires: time + AssetReceipt.lifetime
    )
    do throws(ServerError) {
      try keep(content, as: asset, until: receipt.expires, upload: ticket.id)
    } catch {
      return respond(exchange, status: 500, html: "Internal Server Error", detail: error.detail)
    }
    return respond(exchange, status: 200, json: ["singleFile": .object(receipt.json(seal))])
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
