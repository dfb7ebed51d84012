// bench-tool: what infra/bench needs of our own modules. It is installed nowhere.
//
//   commit FOLDER COUNT NUMBER        commits COUNT times to the document of user NUMBER, of some 800 bytes
//   players FOLDER COUNT SECONDS      makes a state folder with players who were looked at SECONDS ago
//   discard ADDRESS COUNT AUTHORITY   fetches as many players' games as check-turns would, and throws them away
//   accept FOLDER COUNT [CROWD [TOKEN]]   accepts one notification to COUNT devices, or what else Crowd has; prints the
//                                     milliseconds and the most memory, in KiB
//   listeners FOLDER COUNT            makes a state folder with COUNT users who listen to the session "final"
//   trickle FOLDER COUNT MS           accepts an urgent and an ordinary notification every MS milliseconds, COUNT times
//   trickle FOLDER COUNT MS TOKEN     accepts one to an iPhone, an Android phone and this browser every MS milliseconds
//   audience FOLDER COUNT             makes a state folder with COUNT users who have tags, and the same as tables
//   retag FOLDER COUNT NUMBER         changes a tag of user NUMBER of these COUNT times
//   answers FOLDER COUNT              writes made-up answers of 70 to 300 KB, named 00.json and on

import Turnstone
import Unix

let words = CommandLine.arguments
do throws(Failure) {
    switch words.dropFirst().first {
    case "commit" where words.count == 5:
        try commit(in: words[2], count: number(words[3]), user: number(words[4]))
    case "players" where words.count >= 5:
        try makePlayers(in: words[2], count: number(words[3]), lookedSecondsAgo: number(words[4]))
    case "discard" where words.count >= 5:
        try discard(words[2], count: number(words[3]), authority: words[4])
    case "accept" where words.count >= 4:
        try accept(
            in: words[2], count: number(words[3]),
            words.count > 4 ? Crowd(rawValue: words[4]) ?? .devices : .devices,
            browser: words.count > 5 ? words[5] : "")
    case "listeners" where words.count >= 4:
        try makeListeners(in: words[2], count: number(words[3]))
    case "trickle" where words.count == 6:
        try trickle(
            into: words[2], count: number(words[3]), milliseconds: number(words[4]),
            browser: words[5])
    case "trickle" where words.count == 5:
        try trickle(
            into: words[2], count: number(words[3]), milliseconds: number(words[4]))
    case "audience" where words.count == 4:
        try makeAudience(in: words[2], count: number(words[3]))
    case "retag" where words.count == 5:
        try retag(in: words[2], count: number(words[3]), user: number(words[4]))
    case "answers" where words.count >= 4: try writeAnswers(in: words[2], count: number(words[3]))
    default: throw .malformed("usage: see the head of main.swift")
    }
} catch {
    StandardStreams.writeErrors("bench-tool: \(error.sentence)\n")
    ThisProcess.exit(2)
}

func number(_ text: String) throws(Failure) -> Int64 {
    guard let number = Int64(text), number >= 0 else { throw .malformed("\(text) is no number") }
    return number
}
