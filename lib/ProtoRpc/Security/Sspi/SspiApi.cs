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

/// <summary><c>SEC_WINNT_AUTH_IDENTITY_W</c>: a user with its password; lengths in characters.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct SspiIdentity
{
    public const uint Unicode = 2;

    public char* User;
    public uint UserLength;
    public char* Domain;
    public uint DomainLength;
    public char* Password;
    public uint PasswordLength;
    public uint Flags;
}

/// <summary><c>SecPkgContext_NegotiationInfo</c>: which package both sides agreed on.</summary>
[SupportedOSPlatform("windows")]
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct SspiNegotiation
{
    private SspiPackageInfo* _package;
    private uint _state;

    /// <summary>The package's name; frees what the system allocated.</summary>
    public string? TakeName()
    {
        if (_package == null)
        {
            return null;
        }

        string? name = _package->Name == null ? null : new string(_package->Name);
        SspiApi.FreeContextBuffer(_package);
        _package = null;
        return name;
    }
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

/// <summary><c>SecPkgContext_Sizes</c>: how large tokens and signatures are.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct SspiSizes
{
    public uint MaxToken;
    public uint MaxSignature;
    public uint BlockSize;
    public uint SecurityTrailer;
}

/// <summary><c>SecPkgContext_ClientSpecifiedTarget</c>: the service that a client asked for.</summary>
[SupportedOSPlatform("windows")]
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct SspiTarget
{
    private char* _name;

    /// <summary>The service principal name; frees what the system allocated.</summary>
    public string TakeName()
    {
        if (_name == null)
        {
            return "";
        }

        string name = new(_name);
        SspiApi.FreeContextBuffer(_name);
        _name = null;
        return name;
    }
}
