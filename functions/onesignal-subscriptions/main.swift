// PATCH, DELETE /apps/{app_id}/subscriptions/{subscription_id}: changes or removes a subscription.
// PATCH …/owner: gives it to another user. GET, PATCH …/user/identity: the aliases of its user.
// PATCH /apps/{app_id}/subscriptions_by_token/{token_type}/{token}: changes the subscription with a token.
//
//   in    Authorization: Key, Basic or nothing, and a key of TURNSTONE_SERVER_KEY
//         {"subscription": {"token"?, "enabled"?, "notification_types"?, "app_version"?, "device_model"?,
//         "device_os"?}}, {"identity": {LABEL: ID}}
//   out   202 {"subscription"}, DELETE 202 {}; owner, identity: 200 {"identity"}
//   else  400 malformed, unknown or unsupported member, 403 missing or unknown key, 404 unknown subscription
//         or user, 409 an alias is another user's, 503 busy; always {"errors": […]}

import Edge
import OneSignal
import Store
import Turnstone

serve(
    Route("PATCH", "/apps/{app_id}/subscriptions/{subscription_id}") {
        (request) throws(Failure) in
        _ = try App(inPathOf: request)
        let subscriptions = try Subscriptions(request)
        return try subscriptions.update { () throws(Failure) in
            try subscriptions.find(id(request))
        }
    },
    Route("DELETE", "/apps/{app_id}/subscriptions/{subscription_id}") {
        (request) throws(Failure) in
        _ = try App(inPathOf: request)
        return try Subscriptions(request).delete(id(request), at: request.time)
    },
    Route("PATCH", "/apps/{app_id}/subscriptions/{subscription_id}/owner") {
        (request) throws(Failure) in
        _ = try App(inPathOf: request)
        return try Subscriptions(request).transfer(id(request))
    },
    Route("GET", "/apps/{app_id}/subscriptions/{subscription_id}/user/identity") {
        (request) throws(Failure) in
        _ = try App(inPathOf: request)
        return try Users(request).identity(of: Subscriptions(request).find(id(request)).user)
    },
    Route("PATCH", "/apps/{app_id}/subscriptions/{subscription_id}/user/identity") {
        (request) throws(Failure) in
        _ = try App(inPathOf: request)
        return try Users(request).addAliases(to: Subscriptions(request).find(id(request)).user)
    },
    Route("PATCH", "/apps/{app_id}/subscriptions_by_token/{token_type}/{token}") {
        (request) throws(Failure) in
        _ = try App(inPathOf: request)
        let subscriptions = try Subscriptions(request)
        return try subscriptions.update { () throws(Failure) in
            try subscriptions.find(
                request[parameter: "token_type"], token: request[parameter: "token"])
        }
    })

func id(_ request: Request) -> String { request[parameter: "subscription_id"] }
