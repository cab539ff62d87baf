/// The page a `redirectURL` leads to: whoever opens it may be anybody, and hands the token to the window that opened it.
enum SignInPage {
  static let path = "/sign-in"

  /// Shows nothing of the request, so that a URL cannot smuggle in markup.
  static let html = """
    <!doctype html>
    <html><head><meta charset="utf-8"><title>Sign in to the CloudKit emulator</title></head><body>
    <h1>Sign in</h1>
    <p>Any name is a user. The name is also the web-auth token.</p>
    <form id="form"><input id="name" autofocus required maxlength="100"> <button>Sign in</button></form>
    <p id="done"></p>
    <script>
    document.getElementById("form").addEventListener("submit", function (event) {
      event.preventDefault();
      var token = document.getElementById("name").value;
      document.getElementById("done").textContent = "ckWebAuthToken: " + token;
      if (window.opener) {
        window.opener.postMessage({ckWebAuthToken: token, ckSession: token}, "*");
        window.close();
      }
    });
    </script></body></html>
    """
}
