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
