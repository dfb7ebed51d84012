// Made by infra/make-templates: change templates/ instead.

import Messages

/// The templates that come with this program.
let shipped = [
    TemplateText(
        event: "approval_cleared",
        text: #"""
            {
              "example": {
                "requestId": "approval-123"
              },
              "message": {
                "push_type": "background",
                "content_available": true,
                "subject": "approval {requestId}",
                "data": {
                  "clearApprovalId": "{requestId}"
                }
              }
            }
            """#),
    TemplateText(
        event: "approval_request",
        text: #"""
            {
              "example": {
                "requestId": "approval-123",
                "toolName": "Bash",
                "action": "Execute: npm test"
              },
              "message": {
                "title": "Approval Needed",
                "subtitle": "{toolName}",
                "body": "{action}",
                "sound": "default",
                "category": "APPROVAL_REQUEST",
                "interruption_level": "time-sensitive",
                "expires_in": 3600,
                "subject": "approval {requestId}",
                "data": {
                  "requestId": "{requestId}",
                  "toolName": "{toolName}",
                  "type": "approval"
                }
              }
            }
            """#),
    TemplateText(
        event: "comment",
        text: #"""
            {
              "example": {
                "authorName": "Ann",
                "preview": "Well said!",
                "postId": "p-1",
                "commentId": "k-1"
              },
              "message": {
                "title": "{authorName} commented on your post",
                "body": "{preview}",
                "sound": "default",
                "thread_id": "{postId}",
                "data": {
                  "postId": "{postId}",
                  "commentId": "{commentId}",
                  "type": "COMMENT"
                }
              }
            }
            """#),
    TemplateText(
        event: "friend_request",
        text: #"""
            {
              "example": {
                "senderName": "Ann",
                "senderId": "u-1"
              },
              "message": {
                "title": "Friend Request",
                "body": "{senderName} wants to be your friend",
                "sound": "default",
                "data": {
                  "senderId": "{senderId}",
                  "type": "FRIEND_REQUEST"
                }
              }
            }
            """#),
    TemplateText(
        event: "new_message",
        text: #"""
            {
              "example": {
                "senderName": "Sender Name",
                "preview": "Message preview...",
                "conversationId": "c-1",
                "messageType": "USER_USER",
                "badge": 1
              },
              "defaults": {
                "messageType": "USER_USER",
                "badge": null
              },
              "message": {
                "title": "{senderName}",
                "body": "{preview}",
                "badge": "{badge}",
                "sound": "default",
                "mutable_content": true,
                "thread_id": "{conversationId}",
                "data": {
                  "conversationId": "{conversationId}",
                  "messageType": "{messageType}",
                  "type": "NEW_MESSAGE"
                }
              }
            }
            """#),
    TemplateText(
        event: "project_completion",
        text: #"""
            {
              "example": {
                "projectName": "Harbour View",
                "projectId": "p-1"
              },
              "message": {
                "title": "Project Completed",
                "body": "{projectName} has been marked as completed",
                "sound": "default",
                "data": {
                  "type": "projectCompletion",
                  "projectId": "{projectId}",
                  "screen": "projectDetails"
                }
              }
            }
            """#),
    TemplateText(
        event: "quest_reminder",
        text: #"""
            {
              "example": {
                "questName": "Write to your representative",
                "questId": "q-1"
              },
              "message": {
                "title": "Quest Reminder",
                "body": "Complete your quest: {questName}",
                "sound": "default",
                "data": {
                  "questId": "{questId}",
                  "type": "QUEST_REMINDER"
                }
              }
            }
            """#),
    TemplateText(
        event: "reaction",
        text: #"""
            {
              "example": {
                "authorName": "Ann",
                "reaction": "👍",
                "postId": "p-1"
              },
              "message": {
                "title": "New Reaction",
                "body": "{authorName} reacted {reaction} to your post",
                "sound": "default",
                "thread_id": "{postId}",
                "data": {
                  "postId": "{postId}",
                  "reaction": "{reaction}",
                  "type": "REACTION"
                }
              }
            }
            """#),
    TemplateText(
        event: "schedule_change",
        text: #"""
            {
              "example": {
                "taskName": "Painting",
                "projectName": "Harbour View",
                "taskId": "t-1",
                "projectId": "p-1"
              },
              "message": {
                "title": "Schedule Update",
                "body": "{taskName} on {projectName}: Schedule has been updated",
                "sound": "default",
                "data": {
                  "type": "scheduleChange",
                  "taskId": "{taskId}",
                  "projectId": "{projectId}",
                  "screen": "taskDetails"
                }
              }
            }
            """#),
    TemplateText(
        event: "task_assignment",
        text: #"""
            {
              "example": {
                "taskName": "Painting",
                "projectName": "Harbour View",
                "taskId": "t-1",
                "projectId": "p-1"
              },
              "message": {
                "title": "New Task Assignment",
                "body": "You've been assigned to {taskName} on {projectName}",
                "sound": "default",
                "data": {
                  "type": "taskAssignment",
                  "taskId": "{taskId}",
                  "projectId": "{projectId}",
                  "screen": "taskDetails"
                }
              }
            }
            """#),
]
