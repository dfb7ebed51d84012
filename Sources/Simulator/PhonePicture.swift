import JSON
import Turnstone

/// Draws a push as an iPhone or an Android phone would show it, as a box of plain text.
func phonePicture(_ push: PushJournal.Entry) -> String {
    push.service == nil ? iPhonePicture(push) : androidPicture(push)
}

private func iPhonePicture(_ push: PushJournal.Entry) -> String {
    let payload = push.payload?.object ?? [:]
    let aps = payload["aps"]?.object ?? [:]
    let alert = aps["alert"]
    let texts = [
        alert?.object?["title"]?.string, alert?.object?["subtitle"]?.string,
        alert?.string ?? alert?.object?["body"]?.string,
    ]
    var footer = notes(badge: aps["badge"]?.integer, sound: aps["sound"]?.string)
    footer += links(in: payload)
    switch push.target {
    case .device(let token): footer += ["to \(token.prefix(16))…"]
    case .channel(let channel): footer += wrapped("to all who listen to \(channel)")
    }
    return picture(of: texts, footer)
}

private func androidPicture(_ push: PushJournal.Entry) -> String {
    let message = push.payload?.object ?? [:]
    let texts = message["notification"]?.object ?? [:]
    let android = message["android"]?.object?["notification"]?.object ?? [:]
    var footer = notes(
        badge: android["notification_count"]?.integer, sound: android["sound"]?.string)
    footer += links(in: message["data"]?.object ?? [:])
    footer += ["to Android, \(push.target.text.prefix(16))…"]
    return picture(of: [texts["title"]?.string, texts["body"]?.string], footer)
}

/// Draws a push as a browser would show it.
func browserPicture(_ push: WebService.Entry) -> String {
    let shown = push.payload?.object?["notification"]?.object ?? [:]
    var footer = notes(badge: shown["app_badge"]?.integer, sound: nil)
    if let link = shown["navigate"]?.string { footer += wrapped("opens \(link)") }
    footer += ["to the browser \(push.browser.prefix(16))…"]
    return picture(of: [shown["title"]?.string, shown["body"]?.string], footer)
}

private func notes(badge: Int64?, sound: String?) -> [String] {
    let notes = [badge.map { "badge \($0)" }, sound.map { "sound \($0)" }].compactMap { $0 }
    return notes.isEmpty ? [] : [notes.joined(separator: ", ")]
}

private func links(in members: JSONObject) -> [String] {
    ["app_url", "web_url"].compactMap { members[$0]?.string }.flatMap { wrapped("opens \($0)") }
}

private func picture(of texts: [String?], _ footer: [String]) -> String {
    var lines = texts.compactMap { $0 }.flatMap { $0.split(whereSeparator: \.isNewline) }
        .flatMap { wrapped(String($0)) }
    if lines.isEmpty { lines = ["(nothing to show)"] }
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
