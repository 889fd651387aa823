namespace ProtoRpc.Security.Sspi;

/// <summary>What SSPI answers, and exceptions of it.</summary>
internal static class SspiStatus
{
    public const int Ok = 0;
    public const int ContinueNeeded = 0x00090312;
    public const int CompleteNeeded = 0x00090313;
    public const int CompleteAndContinue = 0x00090314;

    // The names are those of winerror.h; words are given where they help more than the name does.
    private static readonly Dictionary<uint, (string Name, string? Words)> Known = new()
    {
        [0x80090300] = ("SEC_E_INSUFFICIENT_MEMORY", "there is not enough memory"),
        [0x80090301] = ("SEC_E_INVALID_HANDLE", null),
        [0x80090302] = (
            "SEC_E_UNSUPPORTED_FUNCTION", "the package of this system does not support the request"),
        [0x80090303] = (
            "SEC_E_TARGET_UNKNOWN", "the service principal name is unknown, or the server does not exist"),
        [0x80090304] = ("SEC_E_INTERNAL_ERROR", "the local security authority cannot be reached"),
        [0x80090305] = ("SEC_E_SECPKG_NOT_FOUND", "the system does not have this package"),
        [0x80090306] = ("SEC_E_NOT_OWNER", "the account does not own the credential"),
        [0x80090308] = (
            "SEC_E_INVALID_TOKEN",
            "the token of the peer cannot be decoded: the peer may use another mechanism"),
        [0x8009030A] = ("SEC_E_QOP_NOT_SUPPORTED", "the package does not protect messages like that"),
        [0x8009030B] = ("SEC_E_NO_IMPERSONATION", "the caller's logon cannot be used"),
        [0x8009030C] = (
            "SEC_E_LOGON_DENIED", "the logon was denied: the user is unknown, or the password is wrong"),
        [0x8009030D] = ("SEC_E_UNKNOWN_CREDENTIALS", "the credential is not known to the package"),
        [0x8009030E] = (
            "SEC_E_NO_CREDENTIALS",
            "there is no credential: the account has logged on without a password or ticket"),
        [0x8009030F] = ("SEC_E_MESSAGE_ALTERED", "the message was changed in transit"),
        [0x80090310] = ("SEC_E_OUT_OF_SEQUENCE", "the message is out of sequence"),
        [0x80090311] = (
            "SEC_E_NO_AUTHENTICATING_AUTHORITY",
            "the domain controller or KDC cannot be reached"),
        [0x80090317] = ("SEC_E_CONTEXT_EXPIRED", "the context is expired"),
        [0x80090318] = ("SEC_E_INCOMPLETE_MESSAGE", null),
        [0x80090320] = ("SEC_E_INCOMPLETE_CREDENTIALS", null),
        [0x80090321] = ("SEC_E_BUFFER_TOO_SMALL", "the token is larger than a PDU can carry"),
        [0x80090322] = (
            "SEC_E_WRONG_PRINCIPAL",
            "the service runs as another account than the service principal name says"),
        [0x80090324] = ("SEC_E_TIME_SKEW", "the clocks of client and server are too far apart: set them"),
        [0x80090329] = ("SEC_E_ENCRYPT_FAILURE", null),
        [0x80090330] = ("SEC_E_DECRYPT_FAILURE", null),
        [0x80090331] = ("SEC_E_ALGORITHM_MISMATCH", "both sides have no algorithm in common"),
        [0x80090332] = ("SEC_E_SECURITY_QOS_FAILED", null),
        [0x80090334] = ("SEC_E_NO_TGT_REPLY", null),
        [0x80090336] = ("SEC_E_WRONG_CREDENTIAL_HANDLE", null),
        [0x80090338] = ("SEC_E_MAX_REFERRALS_EXCEEDED", null),
        [0x8009033A] = ("SEC_E_STRONG_CRYPTO_NOT_SUPPORTED", null),
        [0x8009033E] = ("SEC_E_SMARTCARD_LOGON_REQUIRED", "the user must log on with a smart card"),
        [0x8009033F] = ("SEC_E_SHUTDOWN_IN_PROGRESS", "the system is shutting down"),
        [0x80090342] = ("SEC_E_KDC_UNKNOWN_ETYPE", "the encryption type is not supported by the KDC"),
        [0x80090343] = ("SEC_E_UNSUPPORTED_PREAUTH", null),
        [0x80090346] = (
            "SEC_E_BAD_BINDINGS", "the client came over another TLS connection than it authenticated for"),
        [0x80090347] = ("SEC_E_MULTIPLE_ACCOUNTS", "several accounts have this name"),
        [0x80090348] = ("SEC_E_NO_KERB_KEY", "the account of the service has no Kerberos key"),
        [0x80090350] = ("SEC_E_DOWNGRADE_DETECTED", "an attempt to weaken the authentication was detected"),
        [0x8009035D] = ("SEC_E_INVALID_PARAMETER", null),
        [0x8009035E] = ("SEC_E_DELEGATION_POLICY", null),
        [0x8009035F] = ("SEC_E_POLICY_NLTM_ONLY", "the policy of the domain allows only NTLM"),
    };

    /// <summary>A token, a ticket or a password proves nothing.</summary>
    public static RpcException Refused(string package, int status) =>
        SecurityErrors.Refused(package, Text(status));

    /// <summary>There is nothing to prove somebody by, or to verify with.</summary>
    public static RpcException NoCredential(string package, int status) => new(
        RpcStatusCode.FailedPrecondition, $"{package} cannot be used by this account: {Text(status)}.")
    {
        ErrorId = RpcErrorIds.NoCredentials,
    };

    /// <summary>What a status means: in words, by its name, or as the number that it is.</summary>
    public static string Text(int status) =>
        !Known.TryGetValue((uint)status, out (string Name, string? Words) known)
            ? $"SSPI answers 0x{status:X8}"
        : known.Words is null ? $"SSPI answers {known.Name}"
        : $"{known.Words} ({known.Name})";
}
