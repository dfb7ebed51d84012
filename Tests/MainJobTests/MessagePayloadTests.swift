import JSON
import TestSupport
import Testing
import Turnstone

/// The payload that an app receives for a message, as it arrives at the stand-in.
@Suite struct MessagePayloadTests {
    private struct Row: CustomTestStringConvertible, Sendable {
        let event: String
        let values: JSONObject
        let payload: JSONValue
        var type = "alert"
        var priority = "10"

        var testDescription: String { event }
    }

    private static let task: JSONObject = [
        "taskName": "Painting", "projectName": "Harbour View", "taskId": "t-1",
        "projectId": "p-1",
    ]

    private static let rows = [
        Row(
            event: "approval_request",
            values: [
                "requestId": "approval-123", "toolName": "Bash", "action": "Execute: npm test",
            ],
            payload: [
                "aps": [
                    "alert": [
                        "title": "Approval Needed", "subtitle": "Bash", "body": "Execute: npm test",
                    ],
                    "sound": "default", "category": "APPROVAL_REQUEST",
                    "interruption-level": "time-sensitive",
                ],
                "requestId": "approval-123", "toolName": "Bash", "type": "approval",
            ]),
        Row(
            event: "approval_cleared", values: ["requestId": "approval-123"],
            payload: ["aps": ["content-available": 1], "clearApprovalId": "approval-123"],
            type: "background", priority: "5"),
        Row(
            event: "new_message",
            values: [
                "senderName": "Sender Name", "preview": "Message preview...", "badge": 1,
                "conversationId": "c-9",
            ],
            payload: [
                "aps": [
                    "alert": ["title": "Sender Name", "body": "Message preview..."], "badge": 1,
                    "sound": "default", "mutable-content": 1, "thread-id": "c-9",
                ],
                "conversationId": "c-9", "messageType": "USER_USER", "type": "NEW_MESSAGE",
            ]),
        Row(
            event: "new_message",
            values: [
                "senderName": "Editor", "preview": "Hello", "conversationId": "c-9",
                "messageType": "ADMIN_CANDIDATE",
            ],
            payload: [
                "aps": [
                    "alert": ["title": "Editor", "body": "Hello"], "sound": "default",
                    "mutable-content": 1, "thread-id": "c-9",
                ],
                "conversationId": "c-9", "messageType": "ADMIN_CANDIDATE", "type": "NEW_MESSAGE",
            ]),
        Row(
            event: "friend_request", values: ["senderName": "Ann", "senderId": "u-1"],
            payload: [
                "aps": [
                    "alert": ["title": "Friend Request", "body": "Ann wants to be your friend"],
                    "sound": "default",
                ],
                "senderId": "u-1", "type": "FRIEND_REQUEST",
            ]),
        Row(
            event: "comment",
            values: [
                "authorName": "Ann", "preview": "Well said!", "postId": "p-1", "commentId": "k-1",
            ],
            payload: [
                "aps": [
                    "alert": ["title": "Ann commented on your post", "body": "Well said!"],
                    "sound": "default", "thread-id": "p-1",
                ],
                "postId": "p-1", "commentId": "k-1", "type": "COMMENT",
            ]),
        Row(
            event: "reaction", values: ["authorName": "Ann", "reaction": "👍", "postId": "p-1"],
            payload: [
                "aps": [
                    "alert": ["title": "New Reaction", "body": "Ann reacted 👍 to your post"],
                    "sound": "default", "thread-id": "p-1",
                ],
                "postId": "p-1", "reaction": "👍", "type": "REACTION",
            ]),
        Row(
            event: "quest_reminder", values: ["questName": "Write a letter", "questId": "q-1"],
            payload: [
                "aps": [
                    "alert": [
                        "title": "Quest Reminder", "body": "Complete your quest: Write a letter",
                    ],
                    "sound": "default",
                ],
                "questId": "q-1", "type": "QUEST_REMINDER",
            ]),
        Row(
            event: "task_assignment", values: task,
            payload: [
                "aps": [
                    "alert": [
                        "title": "New Task Assignment",
                        "body": "You've been assigned to Painting on Harbour View",
                    ],
                    "sound": "default",
                ],
                "type": "taskAssignment", "taskId": "t-1", "projectId": "p-1",
                "screen": "taskDetails",
            ]),
        Row(
            event: "schedule_change", values: task,
            payload: [
                "aps": [
                    "alert": [
                        "title": "Schedule Update",
                        "body": "Painting on Harbour View: Schedule has been updated",
                    ],
                    "sound": "default",
                ],
                "type": "scheduleChange", "taskId": "t-1", "projectId": "p-1",
                "screen": "taskDetails",
            ]),
        Row(
            event: "project_completion",
            values: ["projectName": "Harbour View", "projectId": "p-1"],
            payload: [
                "aps": [
                    "alert": [
                        "title": "Project Completed",
                        "body": "Harbour View has been marked as completed",
                    ],
                    "sound": "default",
                ],
                "type": "projectCompletion", "projectId": "p-1", "screen": "projectDetails",
            ]),
    ]

    @Test("each event arrives as its document shows it")
    func events() throws {
        let world = try World()
        try world.give("ann", devices: [1])
        for row in Self.rows {
            let answer = try world.post(event: row.event, row.values, to: "ann")
            #expect(answer.status == 202, "\(answer.body)")
            // Together, a clear would take the place of its request.
            try world.run("deliver")
        }
        var pushes = try world.simulator.pushes()
        #expect(pushes.count == Self.rows.count)
        for row in Self.rows {
            let place = pushes.firstIndex { same($0["payload"], row.payload) }
            #expect(place != nil, "\(row.event)")
            guard let place else { continue }
            let headers = pushes.remove(at: place)["headers"]?.object
            #expect(headers?["apns-push-type"] == .string(row.type), "\(row.event)")
            #expect(headers?["apns-priority"] == .string(row.priority), "\(row.event)")
        }
    }

    @Test("what a message says goes where APNs wants it")
    func everything() throws {
        let world = try World()
        try world.give("ann", devices: [1])
        let seconds = world.now / 1000
        _ = try world.sent([
            "users": ["ann"], "title": "T", "subtitle": "S", "body": "B", "title_loc_key": "TK",
            "title_loc_args": ["a"], "subtitle_loc_key": "SK", "subtitle_loc_args": [],
            "loc_key": "K", "loc_args": ["b", "c"], "badge": 3,
            "sound": ["critical": true, "name": "bell", "volume": .number(0.5)],
            "thread_id": "th", "category": "C", "interruption_level": "critical",
            "relevance_score": .number(0.25), "mutable_content": true, "content_available": true,
            "target_content_id": "w", "collapse_id": "one", "priority": 5,
            "expiration": .integer(seconds + 60), "push_type": "alert", "kind": "news",
            "data": ["x": ["y": [1, 2, .null]], "z": false],
        ])
        try world.run("deliver")
        let push = try #require(try world.simulator.pushes().first)
        let expected: JSONValue = [
            "aps": [
                "alert": [
                    "title": "T", "subtitle": "S", "body": "B", "title-loc-key": "TK",
                    "title-loc-args": ["a"], "subtitle-loc-key": "SK", "subtitle-loc-args": [],
                    "loc-key": "K", "loc-args": ["b", "c"],
                ],
                "badge": 3, "sound": ["name": "bell", "critical": 1, "volume": .number(0.5)],
                "thread-id": "th", "category": "C", "interruption-level": "critical",
                "relevance-score": .number(0.25), "mutable-content": 1, "content-available": 1,
                "target-content-id": "w",
            ], "x": ["y": [1, 2, .null]], "z": false,
        ]
        #expect(push["accepted"] == true, "\(push)")
        #expect(same(push["payload"], expected), "\(push)")
        let headers = push["headers"]?.object
        #expect(headers?["apns-collapse-id"] == "one")
        #expect(headers?["apns-priority"] == "5")
        #expect(headers?["apns-expiration"] == .string("\(seconds + 60)"))
    }

    @Test("a message that expires at once is not kept by APNs")
    func notKept() throws {
        let world = try World()
        try world.give("ann", devices: [1])
        _ = try world.sent(["users": ["ann"], "title": "T", "expiration": 0])
        try world.run("deliver")
        let push = try #require(try world.simulator.pushes().first)
        #expect(push["headers"]?.object?["apns-expiration"] == "0")
        #expect(push["accepted"] == true)
    }
}

/// Whether two JSON values are the same, whatever the order of members.
private func same(_ left: JSONValue?, _ right: JSONValue) -> Bool {
    switch (left, right) {
    case (.object(let left), .object(let right)):
        left.members.count == right.members.count
            && left.members.allSatisfy { member in
                right[member.name].map { same(member.value, $0) } ?? false
            }
    case (.array(let left), .array(let right)):
        left.count == right.count && zip(left, right).allSatisfy { same($0, $1) }
    default: left == right
    }
}
