/// Public keys in PEM form, named for their kinds and faults.
///
/// Made with `openssl genpkey` and `pkey -pubout`.
enum PublicKeys {
    /// RSA of 2048 bits.
    static let rsa = """
        -----BEGIN PUBLIC KEY-----
        MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEArs3coABr01oN21gFuSuB
        uAY1jIRJyFl0tzWxmWa4VLZYRiOg/ZYxO/4GDVlDqjKknLXHrTcU26fn7U41yEHT
        KPtqRixE9MwdyXrMewnAnz1F0HI7INQpnjIYU+OAqp+gw8sg0plOtMW3oFp/yiaf
        0o5EqfZabnXYrDneKVtoFdticpKa0eF0Eo1iberET/ExoWyoPU5G/VctrNaaHMGy
        Pp4/kWRAAv3SSihyPQNAAFjnZs5UAKoiXNERpiIYFGFQrCr4WX55rUU7uednD5WR
        /lGQk6KNhqqVJFOuH4aWXUYclt149b6l4DBsjvFli3efN8Clf3ifN5SrLkCq2/+o
        hQIDAQAB
        -----END PUBLIC KEY-----

        """

    /// P-256.
    static let p256 = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEAmr7SQ3n5MJiIur/H7LUT4446YY+
        ySFPrjZhJvxpTzs85afuCikxDW2aOX/tQtS2rnjV7Hr1GSGJPrVZxAwmMw==
        -----END PUBLIC KEY-----

        """

    /// RSA of 1024 bits.
    static let shortRSA = """
        -----BEGIN PUBLIC KEY-----
        MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDmq7KUk/uEfKUfmEwwK8mwJuD9
        fS797D3JJcVvAOD6RaSi6c4vSUD7ft8ZxusCj0ZtyTEBaft/85KYhxKy/ffT6/Dl
        TVuaKneIZM3A1iIfWqDuRNH7j4KL7XCXu86lDE862epR0jePmk3e077Pf5n6DBwT
        8q0Ta3nOSL4O3H24SQIDAQAB
        -----END PUBLIC KEY-----

        """

    /// P-384.
    static let p384 = """
        -----BEGIN PUBLIC KEY-----
        MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEU54p7YqYNZs1GhKvbHipBVkx8RQTmuCl
        Ahh0CCyDjQatZrV5dTo4YDUj//6YCgX+Er4/UlJnrHAAAslLVVISntwXdGezygli
        K0rnUrZzvoyjNJKPdEx31Zybf/+P9WsR
        -----END PUBLIC KEY-----

        """

    /// P-256, with half of the point.
    static let compressed = """
        -----BEGIN PUBLIC KEY-----
        MDkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDIgADAmr7SQ3n5MJiIur/H7LUT4446YY+
        ySFPrjZhJvxpTzs=
        -----END PUBLIC KEY-----

        """

    /// Ed25519.
    static let ed25519 = """
        -----BEGIN PUBLIC KEY-----
        MCowBQYDK2VwAyEAK/z3AnhRy3quzmO+82JkamFRP2q3phmX1pqUN0wfWLw=
        -----END PUBLIC KEY-----

        """
}
