import Documents
import Foundation
import JSON
import Store
import TestSupport
import Testing
import Turnstone

/// Each user reads a message in the own language.
@Suite struct LanguageTests {
    private static let order: JSONObject = [
        "title": ["en": "Your order", "de": "Deine Bestellung", "pt": "Seu pedido"],
        "body": ["en": "On its way", "de": "Unterwegs"],
    ]

    private func speak(_ world: World, _ user: String, _ language: String?) throws {
        try world.change(user) { $0.profile.language = language.flatMap { LanguageTag($0) } }
    }

    private func alerts(_ world: World) throws -> [JSONObject] {
        try world.pushes(of: "apns").compactMap {
            $0["payload"]?.object?["aps"]?.object?["alert"]?.object
        }
    }

    @Test func allServicesShowTheLanguageOfTheUser() throws {
        let world = try World.withAllServices()
        let languages: [String?] = ["de", "pt-BR", nil]
        for (number, language) in languages.enumerated() {
            try world.registerAllKinds(of: Int64(number + 1), number + 1)
            try speak(world, "\(number + 1)", language)
        }
        var body = Self.order
        body["users"] = ["1", "2", "3"]
        let id = try world.sent(body)
        // It counts what a user speaks when the message is sent.
        try speak(world, "3", "de-CH")
        try world.run("deliver")
        let expected = ["Deine Bestellung", "Seu pedido", "Deine Bestellung"]
        #expect(
            try alerts(world).map { $0["title"]?.string }.sorted { $0! < $1! } == expected.sorted())
        for service in ["fcm", "web"] {
            let titles = try world.pushes(of: service).compactMap {
                $0["payload"]?.object?["notification"]?.object?["title"]?.string
            }
            #expect(titles.sorted() == expected.sorted(), "\(service)")
        }
        let devices = try world.report(id)["devices"]?.array?.compactMap(\.object) ?? []
        #expect(devices.count == 9)
        for device in devices {
            // The language of the body: there is none in Portuguese.
            #expect(device["language"] == (device["user"] == "2" ? "en" : "de"))
        }
    }

    @Test func whatWasHeldIsInTheLanguageOfItsRelease() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        try world.change("ann") {
            $0.preferences.mutedUntil = Timestamp(milliseconds: world.now) + .minutes(60)
        }
        try speak(world, "ann", "de")
        var body = Self.order
        body["users"] = ["ann"]
        let first = try world.sent(body)
        try world.run("deliver")
        try world.advance(seconds: 1)
        let second = try world.sent(["users": ["ann"], "title": ["en": "Hello", "pt": "Olá"]])
        try world.run("deliver")
        try speak(world, "ann", "pt")
        try world.advance(seconds: 3600)
        for _ in 0..<2 { try world.run("deliver") }
        let alert = try #require(try alerts(world).first)
        #expect(alert["body"] == "Olá\nSeu pedido: On its way")
        for id in [first, second] { #expect(try world.report(id)["state"] == "done") }

        // One alone says its language.
        try world.change("ann") {
            $0.preferences.mutedUntil = Timestamp(milliseconds: world.now) + .minutes(60)
        }
        let third = try world.sent(body)
        try world.run("deliver")
        // A held message waits for the full minute after the mute.
        try world.advance(seconds: 3660)
        for _ in 0..<2 { try world.run("deliver") }
        #expect(try alerts(world).last == ["title": "Seu pedido", "body": "On its way"])
        let device = try world.report(third)["devices"]?.array?.first?.object
        #expect(device?["language"] == "en" && device?["state"] == "accepted")
    }

    @Test func aRepeatedRequestKeepsItsLanguages() throws {
        let world = try World()
        try world.give("ann", devices: 1...1)
        try speak(world, "ann", "de")
        var body = Self.order
        body["users"] = ["ann"]
        let first = try world.notify(body, key: "k")
        #expect(try world.notify(body, key: "k").body == first.body)
        body["title"] = ["en": "Your order", "de": "Eine andere", "pt": "Seu pedido"]
        #expect(try world.notify(body, key: "k").status == 422)
        try world.run("deliver")
        #expect(try alerts(world) == [["title": "Deine Bestellung", "body": "Unterwegs"]])
    }

    @Test func aTurnIsToldInThePlayersLanguage() throws {
        let world = try World.withAllServices()
        let texts = URL(fileURLWithPath: "\(#filePath)/../../../functions/check-turns/texts")
        world.variables["TURN_TEXTS"] = texts.standardizedFileURL.path
        try world.registerAllKinds(of: 2)
        try speak(world, "2", "ja")
        try world.beginGame()
        try world.cycle()
        #expect(
            try alerts(world).first == [
                "title": "囲碁：あなたの手番です", "subtitle": "player-1 · 20手目",
                "body": "あなたの手番です：Game 7",
            ])
        for service in ["fcm", "web"] {
            let notification = try world.pushes(of: service).first?["payload"]?.object?[
                "notification"]?.object
            #expect(notification?["title"] == "囲碁：あなたの手番です", "\(service)")
        }
        // What was queued is in the language that the player has when it is sent.
        try world.move()
        try world.move()
        try world.advance(seconds: 31)
        try world.run("check-turns")
        try speak(world, "2", "zh-CN")
        try world.run("deliver")
        #expect(try alerts(world).last?["title"] == "围棋：轮到你了")

        // Without the folder, there is English.
        world.variables["TURN_TEXTS"] = nil
        try world.move()
        try world.move()
        try world.cycle()
        #expect(try alerts(world).last?["title"] == "Your turn in Go!")
    }

    @Test func heldMessagesAreCountedInTheUsersLanguage() throws {
        let world = try World()
        let texts = URL(fileURLWithPath: "\(#filePath)/../../../functions/check-turns/texts")
        world.variables["TURN_TEXTS"] = texts.standardizedFileURL.path
        try world.give("ann", devices: 1...1)
        try world.change("ann") {
            $0.preferences.mutedUntil = Timestamp(milliseconds: world.now) + .minutes(60)
            $0.profile.language = LanguageTag("fr")
        }
        for title in ["A", "B"] {
            _ = try world.sent(["users": ["ann"], "title": .string(title)])
            try world.run("deliver")
        }
        try world.advance(seconds: 3600)
        for _ in 0..<2 { try world.run("deliver") }
        #expect(try alerts(world) == [["title": "2 nouvelles notifications", "body": "B\nA"]])
    }
}
