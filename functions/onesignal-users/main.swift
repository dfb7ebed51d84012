// POST /apps/{app_id}/users: makes a user, or adds to one.
// GET, PATCH, DELETE /apps/{app_id}/users/by/{alias_label}/{alias_id}: shows, changes or erases a user.
// GET, PATCH …/identity, DELETE …/identity/{label}: the user's aliases.
// POST …/subscriptions: makes a subscription of the user.
// PUT /apps/{app_id}/users/{external_id}: changes a user's tags, as the older client does.
//
//   in    Authorization: Key, Basic or nothing, and a key of TURNSTONE_SERVER_KEY
//         {"identity": {LABEL: ID}, "properties": {"tags", "language", "timezone_id", "country"},
//         "subscriptions": [{"type", "token", …}]}
//   out   200 or 201 {"identity", "properties", "subscriptions"}; PATCH 202 {"properties"}; aliases
//         {"identity"}; 201 {"subscription"}
//   else  400 malformed, unknown or unsupported member, 403 missing or unknown key, 404 unknown user, 409 an
//         alias is another user's, 503 busy; always {"errors": […]}

import Documents
import Edge
import Erasing
import OneSignal
import Store
import Turnstone

serve(
    Route("POST", "/apps/{app_id}/users") { (request) throws(Failure) in
        _ = try App(inPathOf: request)
        return try Users(request).make()
    },
    Route("GET", "/apps/{app_id}/users/by/{alias_label}/{alias_id}") {
        (request) throws(Failure) in
        let (users, user) = try named(request)
        return try users.view(user)
    },
    Route("PATCH", "/apps/{app_id}/users/by/{alias_label}/{alias_id}") {
        (request) throws(Failure) in
        let (users, user) = try named(request)
        return try users.update(user)
    },
    Route("DELETE", "/apps/{app_id}/users/by/{alias_label}/{alias_id}") {
        (request) throws(Failure) in
        _ = try App(inPathOf: request)
        let users = try Users(request)
        let user = try users.namedEvenIfErasing()
        // OneSignal's answer has no place for what is left.
        guard try eraseUser(user, in: users.state, as: request, isWhole: true) != nil else {
            throw noUser
        }
        return .ok([:])
    },
    Route("GET", "/apps/{app_id}/users/by/{alias_label}/{alias_id}/identity") {
        (request) throws(Failure) in
        let (users, user) = try named(request)
        return try users.identity(of: user)
    },
    Route("PATCH", "/apps/{app_id}/users/by/{alias_label}/{alias_id}/identity") {
        (request) throws(Failure) in
        let (users, user) = try named(request)
        return try users.addAliases(to: user)
    },
    Route("DELETE", "/apps/{app_id}/users/by/{alias_label}/{alias_id}/identity/{label}") {
        (request) throws(Failure) in
        let (users, user) = try named(request)
        return try users.removeAlias(request[parameter: "label"], of: user)
    },
    Route("POST", "/apps/{app_id}/users/by/{alias_label}/{alias_id}/subscriptions") {
        (request) throws(Failure) in
        let (_, user) = try named(request)
        return try Subscriptions(request).make(for: user)
    },
    Route("PUT", "/apps/{app_id}/users/{external_id}") { (request) throws(Failure) in
        _ = try App(inPathOf: request)
        guard let user = UserID(request[parameter: "external_id"]) else {
            throw .malformed(UserID.rule)
        }
        return try Players(request).updateTags(of: user)
    })

func named(_ request: Request) throws(Failure) -> (Users, UserID) {
    _ = try App(inPathOf: request)
    let users = try Users(request)
    return (users, try users.named())
}
