/// A key that is too short for what asks for one.
package enum ShortKey {
    /// RSA, 1024 bits, PKCS#8.
    package static let rsa = """
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
}
