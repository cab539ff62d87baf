import Foundation
import JSONText

/// The upload or download of one file over plain HTTP, without credentials and without the service's error format.
/// (reference 5.9) [L3]
enum AssetTransfer {
  /// The maximum number of bytes that `multipart/form-data` may add to a file.
  static let wrapping = 64 * 1024

  case upload(Result<AssetUpload, Refusal>)
  case download(id: String, expires: Int64, isSealed: Bool)

  init?(_ request: EmulatorRequest, configuration: EmulatorConfiguration, at time: Date) {
    if request.path.hasPrefix(AssetPath.upload) {
      self = .upload(Result { () throws(Refusal) in try AssetUpload(request, configuration, at: time) })
    } else if request.path.hasPrefix(AssetPath.download) {
      let id = request.path.dropFirst(AssetPath.download.count).prefix { $0 != "/" }
      let query = QueryString.values(request.query)
      let expires = query["e"].flatMap { Int64($0) } ?? 0
      let isSealed = AssetSeal(configuration).isSigned("\(id)/\(expires)", query["s"] ?? "")
      self = .download(id: String(id), expires: expires, isSealed: isSealed)
    } else {
      return nil
    }
  }

  var name: String {
    if case .upload = self { "upload" } else { "download" }
  }

  var method: String {
    if case .upload = self { "POST" } else { "GET" }
  }
}

/// The file received at an upload URL.
struct AssetUpload {
  let ticket: UploadTicket
  let content: AssetContent
  let asset: EmulatorAsset

  /// Reads the body, or the part named `files` of a form. [C] The statuses of the real host are unknown. [E]
  init(_ request: EmulatorRequest, _ configuration: EmulatorConfiguration, at time: Date) throws(Refusal) {
    guard let ticket = UploadTicket(request, seal: AssetSeal(configuration)) else { throw .page(403) }
    // Before the body, which is not received for an expired ticket.
    guard Timestamps.milliseconds(time) < ticket.expires else { throw .page(410) }
    self.ticket = ticket
    let (body, type) = (AssetContent(request), request.header("content-type") ?? "")
    let limit = configuration.assetSizeLimit
    guard body.count <= limit + AssetTransfer.wrapping else { throw .page(413) }
    do {
      var content: AssetContent? = body
      if type.lowercased().hasPrefix("multipart/form-data") {
        content = try MultipartForm(contentType: type).flatMap { try body.part(named: "files", of: $0) }
      }
      guard let content else { throw Refusal.page(400) }
      guard content.count <= limit else { throw Refusal.page(413) }
      self.content = content
      asset = try EmulatorAsset(content, upload: ticket.id)
    } catch {
      throw error as? Refusal ?? .page(500)
    }
  }
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
        let receipt = try take(try upload.get(), at: Timestamps.milliseconds(exchange.time))
        return gate.respond(exchange, json: ["singleFile": .object(receipt.json(world.seal))])
      case .download(let id, let expires, let isSealed):
        guard isSealed else { throw .page(403) }
        guard exchange.time < Date(timeIntervalSince1970: Double(expires)), world.assets.holds(id) else {
          throw .page(410)
        }
        let size = world.store.size(ofAsset: id)
        if let failure = world.store.takeFailure() { throw .page(500, detail: "\(failure)") }
        guard let size else { throw .page(500) }
        return gate.respond(exchange, .bytes, asset: StoredAsset(id: id, size: size))
      }
    }
  }

  /// Stores an uploaded file, and returns the receipt.
  private func take(_ upload: AssetUpload, at time: Int64) throws(Refusal) -> AssetReceipt {
    let (ticket, asset) = (upload.ticket, upload.asset)
    world.assets.makeRoom(for: asset.id, upload: ticket.id)
    world.collectAssets(at: time)
    let weight = world.assets.unusedBytes + AssetShelf.weight(asset.size)
    guard world.assets.holds(asset.id) || weight <= gate.configuration.unusedAssetLimit else { throw .page(503) }
    let expires = time + AssetReceipt.lifetime
    do throws(ServerError) {
      try world.keep(upload.content, as: asset, until: expires, upload: ticket.id)
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
