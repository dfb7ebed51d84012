/// Self-signed certificates for tests, each named after its fault.
enum Certificates {
    static let key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgHlhENXfoLgqpFnVg
        2xdj64iYCtdEP4BGc0wJsCijywWhRANCAAQrMLIUJwnsYjdwQqr8K4sRyrtl/aYj
        kEgIxsQuypZbGpJQ6sROtT1B9lD09jNYOx6a9pxV/2YiLysdjtQPpU+D
        -----END PRIVATE KEY-----

        """

    /// For localhost and 127.0.0.1, until 2120.
    static let good = """
        -----BEGIN CERTIFICATE-----
        MIIBXjCCAQOgAwIBAgIBATAKBggqhkjOPQQDAjAPMQ0wCwYDVQQDDARnb29kMCAX
        DTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAPMQ0wCwYDVQQDDARnb29k
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEKzCyFCcJ7GI3cEKq/CuLEcq7Zf2m
        I5BICMbELsqWWxqSUOrETrU9QfZQ9PYzWDsemvacVf9mIi8rHY7UD6VPg6NOMEww
        GgYDVR0RBBMwEYIJbG9jYWxob3N0hwR/AAABMA8GA1UdEwEB/wQFMAMBAf8wHQYD
        VR0OBBYEFH7mVdjxz44pNT+FzS4EmLOXq2CrMAoGCCqGSM49BAMCA0kAMEYCIQCQ
        19PW8q4jdV9ZBFEDVjxDbGwXYvTOA9M4zQ0z1H+78AIhAOQhmAKOckMEZYoT5ArP
        Z6iwTOlRqfj+c0pTWvZ9dDQF
        -----END CERTIFICATE-----

        """

    /// For example.invalid.
    static let otherName = """
        -----BEGIN CERTIFICATE-----
        MIIBaDCCAQ2gAwIBAgIBAjAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlvdGhlcm5h
        bWUwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
        CW90aGVybmFtZTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABCswshQnCexiN3BC
        qvwrixHKu2X9piOQSAjGxC7KllsaklDqxE61PUH2UPT2M1g7Hpr2nFX/ZiIvKx2O
        1A+lT4OjTjBMMBoGA1UdEQQTMBGCD2V4YW1wbGUuaW52YWxpZDAPBgNVHRMBAf8E
        BTADAQH/MB0GA1UdDgQWBBR+5lXY8c+OKTU/hc0uBJizl6tgqzAKBggqhkjOPQQD
        AgNJADBGAiEAloQT/Te/T2icE71PNIMKM86Qbfz83/oTAgnGszm+Y6QCIQDyAHKh
        /9F+QZUVqdDEtpH4897ivP5kemU0FoEtjF7SKw==
        -----END CERTIFICATE-----

        """

    /// Until 2020.
    static let expired = """
        -----BEGIN CERTIFICATE-----
        MIIBYTCCAQegAwIBAgIBAzAKBggqhkjOPQQDAjASMRAwDgYDVQQDDAdleHBpcmVk
        MB4XDTE5MDEwMTAwMDAwMFoXDTIwMDEwMTAwMDAwMFowEjEQMA4GA1UEAwwHZXhw
        aXJlZDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABCswshQnCexiN3BCqvwrixHK
        u2X9piOQSAjGxC7KllsaklDqxE61PUH2UPT2M1g7Hpr2nFX/ZiIvKx2O1A+lT4Oj
        TjBMMBoGA1UdEQQTMBGCCWxvY2FsaG9zdIcEfwAAATAPBgNVHRMBAf8EBTADAQH/
        MB0GA1UdDgQWBBR+5lXY8c+OKTU/hc0uBJizl6tgqzAKBggqhkjOPQQDAgNIADBF
        AiEAheJSXEdAZJwHKgquSd6+HiDf+VOFLciKWIMQSinE/bUCIHUfG/5z+kW+cGgE
        ympcyeTk4AmD/tzdK7x0RVeigq43
        -----END CERTIFICATE-----

        """
}
