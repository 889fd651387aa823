using System.Runtime.InteropServices;
using System.Runtime.Versioning;

namespace ProtoRpc.Security.Sspi;

/// <summary>The functions of Windows' security support provider interface that are used here.</summary>
[SupportedOSPlatform("windows")]
internal static unsafe partial class SspiApi
{
    public const uint Inbound = 1;
    public const uint Outbound = 2;
    public const uint OfSizes = 0;
    public const uint OfNegotiation = 12;
    public const uint OfFlags = 14;
    public const uint OfTarget = 27;
    private const string Library = "secur32";

#pragma warning disable SYSLIB1054 // Named as in the library.
    [LibraryImport(
        Library, EntryPoint = "AcquireCredentialsHandleW", StringMarshalling = StringMarshalling.Utf16)]
    public static partial int AcquireCredentialsHandle(
        string? principal, string package, uint use, void* logon, void* identity,
        void* getKey, void* argument, SspiHandle* credential, long* expiry);

    [LibraryImport(Library)]
    public static partial int FreeCredentialsHandle(SspiHandle* credential);

    [LibraryImport(
        Library, EntryPoint = "InitializeSecurityContextW", StringMarshalling = StringMarshalling.Utf16)]
    public static partial int InitializeSecurityContext(
        SspiHandle* credential, SspiHandle* context, string? target, uint wanted, uint reserved, uint data,
        SspiBuffers* input, uint reserved2, SspiHandle* newContext, SspiBuffers* output,
        uint* got, long* expiry);

    [LibraryImport(Library)]
    public static partial int AcceptSecurityContext(
        SspiHandle* credential, SspiHandle* context, SspiBuffers* input, uint wanted, uint data,
        SspiHandle* newContext, SspiBuffers* output, uint* got, long* expiry);

    [LibraryImport(Library)]
    public static partial int CompleteAuthToken(SspiHandle* context, SspiBuffers* token);

    [LibraryImport(Library)]
    public static partial int DeleteSecurityContext(SspiHandle* context);

    [LibraryImport(Library)]
    public static partial int FreeContextBuffer(void* buffer);

    [LibraryImport(Library, EntryPoint = "QueryContextAttributesW")]
    public static partial int QueryContextAttributes(SspiHandle* context, uint attribute, void* value);

    [LibraryImport(Library)]
    public static partial int QuerySecurityContextToken(SspiHandle* context, nint* token);

    [LibraryImport(Library)]
    public static partial int MakeSignature(
        SspiHandle* context, uint quality, SspiBuffers* message, uint sequence);

    [LibraryImport(Library)]
    public static partial int VerifySignature(
        SspiHandle* context, SspiBuffers* message, uint sequence, uint* quality);

    [LibraryImport(Library)]
    public static partial int EncryptMessage(
        SspiHandle* context, uint quality, SspiBuffers* message, uint sequence);

    [LibraryImport(Library)]
    public static partial int DecryptMessage(
        SspiHandle* context, SspiBuffers* message, uint sequence, uint* quality);
#pragma warning restore SYSLIB1054
}

/// <summary><c>SecHandle</c>: a credential or a context.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct SspiHandle
{
    private nuint _lower;
    private nuint _upper;
}

/// <summary><c>SecPkgInfoW</c>: a package.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct SspiPackageInfo
{
    public uint Capabilities;
    public ushort Version;
    public ushort RpcId;
    public uint MaxToken;
    public char* Name;
    public char* Comment;
}

/// <summary><c>SecBufferDesc</c>: the parts of a message.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct SspiBuffers(SspiBuffer* parts, int count)
{
    /// <summary>The parts of a PDU: before the data, the data, after the data, and the signature.</summary>
    public const int OfPdu = 4;

    public uint Version = 0;
    public uint Count = (uint)count;
    public SspiBuffer* Parts = parts;

    /// <summary>Describes a PDU as the runtime of Windows does ([MS-RPCE] section 2.2.2.11): only the data is
    /// encrypted, and header and trailer are signed where both sides agreed on it.</summary>
    /// <param name="parts">Room for <see cref="OfPdu"/> parts.</param>
    /// <param name="pdu">The PDU but for the signature.</param>
    /// <param name="length">Its octets.</param>
    /// <param name="data">Where stub and padding are in it.</param>
    /// <param name="signsHeaders">Whether both sides agreed to sign headers.</param>
    /// <param name="token">The signature.</param>
    /// <param name="tokenLength">Its octets.</param>
    public static SspiBuffers Describe(
        SspiBuffer* parts, byte* pdu, int length, Range data, bool signsHeaders, byte* token, int tokenLength)
    {
        (int offset, int size) = data.GetOffsetAndLength(length);
        int end = offset + size;
        uint around =
            SspiBuffer.Data | (signsHeaders ? SspiBuffer.ReadOnlyWithChecksum : SspiBuffer.ReadOnly);
        parts[0] = new SspiBuffer(around, pdu, offset);
        parts[1] = new SspiBuffer(SspiBuffer.Data, pdu + offset, size);
        parts[2] = new SspiBuffer(around, pdu + end, length - end);
        parts[3] = new SspiBuffer(SspiBuffer.Token, token, tokenLength);
        return new SspiBuffers(parts, OfPdu);
    }
}

/// <summary><c>SecBuffer</c>: octets, their number, and their type.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct SspiBuffer(uint type, byte* value, int length)
{
    public const uint Data = 1;
    public const uint Token = 2;

    /// <summary>On data: not encrypted, and signed by packages that sign whole messages anyhow.</summary>
    public const uint ReadOnly = 0x80000000;

    /// <summary>On data: not encrypted, and signed.</summary>
    public const uint ReadOnlyWithChecksum = 0x10000000;

    public uint Length = (uint)length;
    public uint Type = type;
    public byte* Value = value;
}

/// <summary>The statuses of SSPI, and exceptions from them.</summary>
internal static class SspiStatus
{
    public const int Ok = 0;
    public const int ContinueNeeded = 0x00090312;
    public const int CompleteNeeded = 0x00090313;
    public const int CompleteAndContinue = 0x00090314;

    // The names are those of winerror.h. The texts are given where they say more than the name.
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

    /// <summary>No credentials to authenticate or verify with.</summary>
    public static RpcException NoCredential(string package, int status) => new(
        RpcStatusCode.FailedPrecondition, RpcErrorIds.NoCredentials,
        $"{package} cannot be used by this account: {Text(status)}.");

    /// <summary>The text of a status: a description, its name, or its number.</summary>
    public static string Text(int status) =>
        !Known.TryGetValue((uint)status, out (string Name, string? Words) known)
            ? $"SSPI answers 0x{status:X8}"
        : known.Words is null ? $"SSPI answers {known.Name}"
        : $"{known.Words} ({known.Name})";
}
