import CloudService
import CloudSync
import Dispatch
import Facts
import Foundation
import Synchronization
import Terminal

/// The clipboard's text and exported files, which leave the dashboard.
extension Runtime {
  func copy(_ text: String) {
    let isCopied = display.copy(text)
    let lines = text.lineCount
    later { runtime in
      runtime.say(
        isCopied
          ? "Copied \(lines == 1 ? "1 line" : "\(lines) lines") to the terminal's clipboard"
          : "Too much to copy; export it to a file",
        isError: !isCopied
      )
    }
  }

  func copyTicket(_ id: Int64) {
    let (scope, format, message) = (setting.scope, setting.format, setting.message)
    Task { [weak self] in
      do {
        let detail = try await self?.service.detail(of: id)
        // The host's name may have to be looked up.
        let host = await Task.detached { ProcessInfo.processInfo.hostName }.value
        guard let self else { return }
        let ticket = detail.flatMap {
          Ticket(detail: $0, scope: scope, host: host, now: self.now(), format: format).text
        }
        guard let ticket else { return say("Operation \(id) is no longer known", isError: true) }
        copy(service.redact(ticket))
      } catch {
        self?.say(message(error).sentence, isError: true)
      }
    }
  }

  func write(_ export: Export) {
    let (write, message) = (setting.export, setting.message)
    let pace = Mutex(Pace(every: .milliseconds(250)))
    let progress: Dashboard.Setting.ExportProgress = { [weak self] done, total in
      guard pace.withLock({ $0.isDue(at: .now) }) else { return }
      let whole = total.map { " of \(Format.number($0))" } ?? ""
      let text = done == 0 ? "Exporting…" : "Exporting \(Format.number(done))\(whole)…"
      DispatchQueue.main.async {
        MainActor.assumeIsolated {
          // Neither an error nor the shell's terminal is written over.
          guard let self, !self.app.hasEnded, self.app.notice?.isError != true else { return }
          self.send(.progressed(text))
        }
      }
    }
    exports.append(
      Task { [weak self] in
        // Writing blocks, so it takes no thread of the tasks.
        let result = await withCheckedContinuation { continuation in
          DispatchQueue.global().async { continuation.resume(returning: Result { try write(export, progress) }) }
        }
        switch result {
        case .success(let said): self?.say(said, isError: false)
        case .failure(let error): self?.say(message(error).sentence, isError: true)
        }
      }
    )
  }

  /// Waits for files that are being written, up to a time limit. Returns whether all are.
  func finishExports(within limit: Duration) async -> Bool {
    guard !exports.isEmpty else { return true }
    return await CloudKitService.ends(exports, within: limit)
  }
}

extension String {
  /// The number of lines. CR LF, which is one character, ends one line.
  var lineCount: Int { utf8.count { $0 == UInt8(ascii: "\n") } + 1 }
}
