import TestSupport
import Testing

@Suite struct PhonePictureTests {
    @Test("a push is shown as on a phone: title, subtitle, text, badge and what a tap opens")
    func picture() throws {
        let simulator = try Simulator()
        let push = try Push(simulator)
        let body = """
            {"aps": {"alert": {"title": "Your turn in Go!", "subtitle": "bob · move 12", "body": \
            "It's your turn in: A friendly game between two old rivals"}, "badge": 2, "sound": "default"}, \
            "app_url": "ogs://game/7"}
            """
        #expect(try Client(simulator, .apns).answer(push.fields, body: body).status == 200)
        let text = try simulator.perform(["do": "show"])["text"]?.string
        #expect(
            text == """
                +----------------------------------------------+
                | Your turn in Go!                             |
                | bob · move 12                                |
                | It's your turn in: A friendly game between   |
                | two old rivals                               |
                +----------------------------------------------+
                | badge 2, sound default                       |
                | opens ogs://game/7                           |
                | to abababababababab…                         |
                +----------------------------------------------+

                """)
    }
}
