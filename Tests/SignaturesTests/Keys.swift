import TestSupport

/// Keys for tests, named after their faults.
enum Keys {
    /// P-256, SEC 1.
    static let sec1 = """
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEIB5YRDV36C4KqRZ1YNsXY+uImArXRD+ARnNMCbAoo8sFoAoGCCqGSM49
        AwEHoUQDQgAEKzCyFCcJ7GI3cEKq/CuLEcq7Zf2mI5BICMbELsqWWxqSUOrETrU9
        QfZQ9PYzWDsemvacVf9mIi8rHY7UD6VPgw==
        -----END EC PRIVATE KEY-----

        """

    static let otherCurve = """
        -----BEGIN PRIVATE KEY-----
        MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDCKEn0iHuGc5CBoMv8h
        Uhwb9oBQKl+eIBdfVvFJpjBS+aBx9hB4YfKiBTxTjn+FgwWhZANiAARiYYAPuY8n
        1uCIMmBWOMo9by3HiiLzKHQCSMTa1F5ctG5hxTa2Y9J68qulz1ri3vcl2FghY0Gz
        DSA+tpqm57VHjS6lb5nyqW1tiyMnQTYArqMzo5MMEySl7bCC9iAZ3dE=
        -----END PRIVATE KEY-----

        """

    static let rsa = ShortKey.rsa

    static let encrypted = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgYiP9Cz2/SwgICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEJq9Q4Y/c9swxXooJNGOQmoEgZCL
        w7KyYbsFXpbwCWYYK5gNlZu2wt0cM98i+Ix2f3qg6xbTfJmMwHJv0fjZIK7O/cb3
        7V8NtK96rbxi3vDh+4PNftZI2XIUD36rDgjqVyUHIROZO+pU9jpDKmFFPeH1dFkk
        La+ZueG6A8/NP3laxNtS7qDJAN7AT6QchHcuye/6mMiQHy24h5TmfSy47f8rjAk=
        -----END ENCRYPTED PRIVATE KEY-----

        """
}
