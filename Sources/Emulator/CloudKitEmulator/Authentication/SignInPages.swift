import Foundation

/// The sign-in pages that a `redirectURL` leads to: a list of users, and a page that passes on the token.
/// (reference 1.4) [E]
enum SignInPages {
  static let path = "/sign-in"

  /// The query key of the origin of the page that asked for the sign-in.
  static let originKey = "origin"

  /// Returns the page with the list of users and a form for other names. It shows nothing from the request.
  ///
  /// - Parameters:
  ///   - tokensEnd: Whether tokens expire, so that the page offers to stay signed in for two weeks.
  ///   - opener: The origin that gets the token, passed on to the next page.
  static func list(_ names: [String], allowsOthers: Bool, tokensEnd: Bool, opener: String?) -> String {
    let origin = opener.map { "&amp;\(originKey)=\(QueryString.encode($0))" } ?? ""
    let links = names.map { name in
      let address = "\(path)?user=\(QueryString.encode(name))\(origin)"
      let kept = tokensEnd ? " <a href=\"\(address)&amp;keep=1\">for two weeks</a>" : ""
      return "<li><a href=\"\(address)\">\(escape(name))</a>\(kept)</li>"
    }
    let hidden = opener.map { "<input type=\"hidden\" name=\"\(originKey)\" value=\"\(escape($0))\">" } ?? ""
    let form = """
      <form action="\(path)"><input name="user" autofocus required maxlength="100">\(hidden) <button>Sign in</button></form>
      """
    return page(
      """
      <h1>Sign in</h1>
      <ul>\(links.joined())</ul>
      \(allowsOthers ? "<p>Or as another user:</p>\(form)" : "")
      <p>You get a ckWebAuthToken for the program that sent you here.</p>
      """
    )
  }

  /// Returns the page that shows the token, and passes it to the window that opened it if that window's page is of the
  /// origin that asked for the sign-in. Percent-encoded text has no special characters of HTML and JavaScript.
  static func done(_ token: String, opener: String?) -> String {
    let script = opener.map(QueryString.encode).map { target in
      """
      <script>
      var token = decodeURIComponent("\(QueryString.encode(token))");
      if (window.opener) {
        window.opener.postMessage({ckWebAuthToken: token, ckSession: token}, decodeURIComponent("\(target)"));
        window.close();
      }
      </script>
      """
    }
    return page(
      """
      <h1>Signed in</h1>
      <p>ckWebAuthToken: <code>\(escape(token))</code></p>
      \(script ?? "")
      """
    )
  }

  static func callback(_ url: String, key: String, token: String) -> String {
    "\(url)\(url.contains("?") ? "&" : "?")\(key)=\(QueryString.encode(token))"
  }

  private static func page(_ body: String) -> String {
    """
    <!doctype html>
    <html><head><meta charset="utf-8"><title>Sign in to the CloudKit emulator</title></head><body>
    \(body)
    </body></html>
    """
  }

  private static func escape(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing("\"", with: "&quot;")
  }
}

extension EmulatorCore {
  /// Shows the list, or signs in a user and redirects the browser.
  func signIn(_ exchange: Exchange) -> EmulatorReply {
    handle(exchange) { (exchange) throws(Refusal) in
      if gate.isOffline { throw .offline }
      let configuration = gate.configuration
      let query = QueryString.values(exchange.request.query)
      // Anybody can write the address of this page, so the origin must be one that may read replies.
      let opener = query[SignInPages.originKey].flatMap { WebAccess.admitted($0, configuration) }
      guard let name = query["user"] else {
        let names = configuration.admitted.union(configuration.strictAuth ? [] : Array(world.users.values))
        let page = SignInPages.list(
          names.sorted(),
          allowsOthers: !configuration.strictAuth,
          tokensEnd: configuration.webAuthTokenLifetime != nil,
          opener: opener
        )
        return gate.respond(exchange, .page, Data(page.utf8))
      }
      guard let token = WebAuthToken(name), token.name == name, configuration.admits(name) else { throw .page(403) }
      let issued = token.issued(at: exchange.time, configuration, isKept: query["keep"] == "1")
      let text = gate.newToken(for: issued).text(configuration)
      guard let callback = configuration.signInCallback else {
        return gate.respond(exchange, .page, Data(SignInPages.done(text, opener: opener).utf8))
      }
      let location = SignInPages.callback(callback, key: configuration.signInCallbackKey, token: text)
      let headers = [EmulatorHeader("Location", location)]
      return gate.respond(exchange, .plainPage, status: 302, headers: headers, result: "302 Found")
    }
  }
}
