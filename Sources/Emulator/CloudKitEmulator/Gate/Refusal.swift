/// The reason why a request gets no answer, and the form of the reply.
enum Refusal: Error, Hashable {
  /// There is no connection.
  case offline
  /// The connection closes before anything takes effect.
  case dropped
  /// An error in the service's format.
  case error(ServerError)
  /// An error in the service's format, with the methods that the operation has.
  case methodNotAllowed([String])
  /// A page without JSON, as of a component in front of the service, such as a proxy. Where the service's error format
  /// is unknown, it is used too. The title is by default that of the status. The detail is for the local log.
  case page(Int, title: String? = nil, headers: [EmulatorHeader] = [], detail: String? = nil)

  /// The same refusal as a page, with the error's reason as the title.
  var plain: Refusal {
    if case .error(let error) = self { .page(error.code.status, title: error.reason) } else { self }
  }

  /// Returns the title of a page.
  static func title(_ status: Int) -> String {
    switch status {
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 405: "Method Not Allowed"
    case 408: "Request Timeout"
    case 410: "Gone"
    case 413: "Request Entity Too Large"
    case 429: "Too Many Requests"
    case 500: "Internal Server Error"
    case 502: "Bad Gateway"
    case 503: "Service Unavailable"
    case 504: "Gateway Timeout"
    default: "Server Error"
    }
  }
}
