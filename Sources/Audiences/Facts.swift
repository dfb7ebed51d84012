import Turnstone

/// The subject of conditions: a user, and one of the user's devices.
package struct Facts {
    package let profile: Profile
    package let platform: Platform
    package let appVersion: String?

    package init(_ profile: Profile, platform: Platform, appVersion: String?) {
        self.profile = profile
        self.platform = platform
        self.appVersion = appVersion
    }
}
