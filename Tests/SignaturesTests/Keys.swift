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

    static let rsa = """
        -----BEGIN PRIVATE KEY-----
        MIICeAIBADANBgkqhkiG9w0BAQEFAASCAmIwggJeAgEAAoGBALXbxldJYXgSCat4
        zHswrxwvxaGjQ0kJyGIvJjxT0tTb6IH07qqROXFKNorQNap2qPnQmQdyGOhSRxLr
        SMEddfGbD2qnHQjzfSAg1Qht6mfaGRW2+GYSSWXoq/rA4E2mrImKSTqhJJkrsbWv
        DMkfM69yM5pvry1u8IskXOinm29fAgMBAAECgYApuppSYRYqdQke/YL+KXek4hlZ
        M5s24TXHwcXmRd201hkN6OPy44vowPyu8YO+76dqW0EiAj5Q4MBKSQ7SsS3ktRts
        xxGchHU39j1FA5iuOJCDJEXbLpeNXNk0exXAgo6k/YgPy0q/86UhgJf395t8LF4+
        mzizAwJlJPG1HNun4QJBAOy8TPd0ZMAYMNGex5ECo13FRdTbJWAuX0NQ0FfEQAcQ
        g57LPj3Gxvqf0wcriLlpS+J8BrBxgAJewzIm0AmWN7cCQQDEqEUJQ5jCf6eU2e4u
        jjFY1n1fsmwZHpoHZuxfMqrY/kG0HRlw+d8oKkcQuEiKxmi9MmcErLwr492t7rLO
        jvWZAkEAxZm7KMXXntvSS/Ybn/eywv959VziirDKRVb8QHYH952aL354Onpj9ihX
        reFxo0m31JkvwDFM5y2QApmRBp+DawJBAJTsDGOIkfzwKJq7MfiFa28n9odqmRuo
        peHnGia5OtHaMS1RP/vi7RAAfBJ4S070E0r7CTJsEI94Hl5hvXxYnDkCQQDa+k0r
        iXcOuzGjDb4luJujuPKhQuP2P54zFDsfdUQ0IYgQZqldEO5B0YAUSPihgbQOAuX2
        S9TpfDxxopL5V6Hp
        -----END PRIVATE KEY-----

        """

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
