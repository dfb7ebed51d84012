import JSON
import Turnstone

/// Draws a push as a phone would show it, as a box of plain text.
func phonePicture(_ push: PushJournal.Entry) -> String {
    let payload = push.payload?.object ?? [:]
    let aps = payload["aps"]?.object ?? [:]
    let alert = aps["alert"]
    var lines: [String] = []
    if let title = alert?.object?["title"]?.string { lines += wrapped(title) }
    if let subtitle = alert?.object?["subtitle"]?.string { lines += wrapped(subtitle) }
    if let body = alert?.string ?? alert?.object?["body"]?.string { lines += wrapped(body) }
    if lines.isEmpty { lines = ["(nothing to show)"] }
    var notes: [String] = []
    if let badge = aps["badge"]?.integer { notes += ["badge \(badge)"] }
    if let sound = aps["sound"]?.string { notes += ["sound \(sound)"] }
    var footer = notes.isEmpty ? [] : [notes.joined(separator: ", ")]
    for name in ["app_url", "web_url"] {
        if let link = payload[name]?.string { footer += wrapped("opens \(link)") }
    }
    switch push.target {
    case .device(let token): footer += ["to \(token.prefix(16))…"]
    case .channel(let channel): footer += wrapped("to all who listen to \(channel)")
    }
    let edge = "+" + String(repeating: "-", count: width + 2) + "+"
    return ([edge] + lines.map(row) + [edge] + footer.map(row) + [edge]).map { $0 + "\n" }.joined()
}

private let width = 44

private func row(_ text: String) -> String {
    "| " + text + String(repeating: " ", count: max(0, width - text.count)) + " |"
}

/// Wraps a text between words, if possible.
private func wrapped(_ text: String) -> [String] {
    var lines: [String] = []
    var line = ""
    for word in text.split(whereSeparator: { $0 == " " || $0.isNewline }) {
        var rest = word[...]
        if !line.isEmpty, line.count + 1 + rest.count > width {
            lines.append(line)
            line = ""
        }
        while rest.count > width {
            lines.append(String(rest.prefix(width)))
            rest = rest.dropFirst(width)
        }
        line += (line.isEmpty ? "" : " ") + rest
    }
    return line.isEmpty ? lines : lines + [line]
}
