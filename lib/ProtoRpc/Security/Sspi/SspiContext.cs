using System.ComponentModel;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using System.Security;
using System.Security.Principal;
using Microsoft.Win32.SafeHandles;

namespace ProtoRpc.Security.Sspi;

/// <summary>NTLM, Kerberos or Negotiate by Windows, with the third leg and the message layout of
/// DCE.</summary>
[SupportedOSPlatform("windows")]
internal sealed unsafe class SspiContext : SecurityContext
{
    // The length of a token in a PDU has 16 bits. SSPI is not asked to allocate tokens: Wine's NTLM ignores
    // the flag on a server, and writes to address 0.
    private const int MaxToken = ushort.MaxValue;

    private readonly SspiCredential _credential;
    private readonly bool _isServer;

    // The service that the client calls. On a server, null accepts every service of the account.
    private readonly string? _target;
    private SspiHandle _context;
    private SspiSizes _sizes;
    private WindowsIdentity? _caller;
    private string _mechanism;
    private uint _flags;
    private bool _hasContext;
    private bool _isComplete;
    private bool _isDisposed;
    private bool _isDce = true;

    private SspiContext(SspiCredential credential, bool isServer, string? target)
    {
        _credential = credential;
        _isServer = isServer;
        _target = target;
        _mechanism = credential.Package;
    }

    /// <summary>Frees the native context if the object was not disposed.</summary>
    ~SspiContext() => Free();

    public override string AuthenticationType => _mechanism;

    public override bool IsComplete => _isComplete;

    /// <inheritdoc/>
    /// <exception cref="RpcException">Unauthenticated: the system does not identify the caller.</exception>
    public override IIdentity Identity => _isServer && _isComplete
        ? _caller ??= ReadCaller()
        : throw new InvalidOperationException(
            "Only a server has the identity of the client, after the authentication is complete.");

    /// <summary>Creates the context of a client.</summary>
    /// <param name="credential">The credential of the client. Other contexts may use it too.</param>
    /// <param name="target">The service principal name.</param>
    public static SspiContext ForClient(SspiCredential credential, string target) =>
        new(credential, isServer: false, target);

    /// <summary>A server's side.</summary>
    /// <param name="credential">The credential that verifies callers, which other contexts also use.</param>
    /// <param name="target">The service principal name that callers by Kerberos must have asked for; null for
    /// any that the account has.</param>
    /// <param name="isDce">Whether the caller speaks DCE/RPC.</param>
    public static SspiContext ForServer(
        SspiCredential credential, string? target = null, bool isDce = true) =>
        new(credential, isServer: true, target) { _isDce = isDce };

    public override byte[] Step(ReadOnlySpan<byte> token)
    {
        if (_isComplete)
        {
            throw SecurityErrors.OutOfTurn(_mechanism);
        }

        // A token without content cannot be verified.
        if (_isServer && token.IsEmpty)
        {
            throw SecurityErrors.Malformed(_mechanism, "the token");
        }

        byte[] buffer = ArrayPool<byte>.Shared.Rent(MaxToken);
        try
        {
            fixed (byte* octets = token)
            fixed (byte* made = buffer)
            {
                SspiBuffer received = new(SspiBuffer.Token, octets, token.Length);
                SspiBuffers input = new(&received, 1);
                SspiBuffer answer = new(SspiBuffer.Token, made, MaxToken);
                SspiBuffers output = new(&answer, 1);
                int status = Complete(Step(token.IsEmpty ? null : &input, &output), &output);
                byte[] next = buffer.AsSpan(0, (int)answer.Length).ToArray();
                if (status == SspiStatus.Ok)
                {
                    Establish();
                }

                return next;
            }
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(buffer, clearArray: true);
        }
    }

    public override bool Supports(RpcProtectionLevel level) => SspiFlags.Support(_flags, _isServer, level);

    public override int SignatureSize(bool encrypted) =>
        (int)(encrypted ? _sizes.SecurityTrailer : _sizes.MaxSignature);

    public override void Protect(Span<byte> pdu, Range data, bool encrypt, Span<byte> signature)
    {
        SspiBuffer* parts = stackalloc SspiBuffer[SspiBuffers.OfPdu];
        fixed (byte* start = pdu)
        fixed (byte* token = signature)
        fixed (SspiHandle* context = &_context)
        {
            SspiBuffers message =
                SspiBuffers.Describe(parts, start, pdu.Length, data, SignsHeaders, token, signature.Length);
            int status = encrypt
                ? SspiApi.EncryptMessage(context, 0, &message, 0)
                : SspiApi.MakeSignature(context, 0, &message, 0);
            if (status != SspiStatus.Ok)
            {
                throw SspiStatus.Refused(_mechanism, status);
            }
        }

        // The header already contains the length, and the signature covers the header.
        if (parts[SspiBuffers.OfPdu - 1].Length != signature.Length)
        {
            throw SecurityErrors.Refused(
                _mechanism, "the package makes signatures of another size than it announced");
        }
    }

    public override bool Unprotect(Span<byte> pdu, Range data, bool encrypted, ReadOnlySpan<byte> signature)
    {
        const uint NotEncrypted = 0x80000001;
        SspiBuffer* parts = stackalloc SspiBuffer[SspiBuffers.OfPdu];

        // A copy, because a package may change the token.
        byte[] copy = signature.ToArray();
        uint quality = 0;
        fixed (byte* start = pdu)
        fixed (byte* token = copy)
        fixed (SspiHandle* context = &_context)
        {
            SspiBuffers message =
                SspiBuffers.Describe(parts, start, pdu.Length, data, SignsHeaders, token, copy.Length);
            return encrypted
                ? SspiApi.DecryptMessage(context, &message, 0, &quality) == SspiStatus.Ok
                    && quality != NotEncrypted
                : SspiApi.VerifySignature(context, &message, 0, &quality) == SspiStatus.Ok;
        }
    }

    public override byte[] SignNegotiation(ReadOnlySpan<byte> mechanisms) => throw OwnNegotiation();

    public override bool VerifyNegotiation(ReadOnlySpan<byte> mechanisms, ReadOnlySpan<byte> code) =>
        throw OwnNegotiation();

    public override void Dispose()
    {
        Free();
        GC.SuppressFinalize(this);
    }

    private static InvalidOperationException OwnNegotiation() =>
        new("The Negotiate package of Windows cannot be used inside another negotiation.");

    private int Step(SspiBuffers* input, SspiBuffers* output)
    {
        SspiHandle credential = _credential.Handle;
        uint got = 0;
        long expiry;
        fixed (SspiHandle* context = &_context)
        {
            SspiHandle* current = _hasContext ? context : null;
            int status = _isServer
                ? SspiApi.AcceptSecurityContext(
                    &credential, current, input, _isDce ? SspiFlags.OfDceServer : SspiFlags.OfServer, 0,
                    context, output, &got, &expiry)
                : SspiApi.InitializeSecurityContext(
                    &credential, current, _target, SspiFlags.OfClient, 0, 0, input, 0,
                    context, output, &got, &expiry);
            GC.KeepAlive(_credential);
            if (status < 0)
            {
                throw SspiStatus.Refused(_mechanism, status);
            }

            _hasContext = true;
            _flags = got;
            return status;
        }
    }

    // Some packages require CompleteAuthToken. Those of Windows do not, but others may be installed.
    private int Complete(int status, SspiBuffers* output)
    {
        if (status is not (SspiStatus.CompleteNeeded or SspiStatus.CompleteAndContinue))
        {
            return status;
        }

        fixed (SspiHandle* context = &_context)
        {
            int completed = SspiApi.CompleteAuthToken(context, output);
            return completed < 0 ? throw SspiStatus.Refused(_mechanism, completed)
                : status == SspiStatus.CompleteNeeded ? SspiStatus.Ok : SspiStatus.ContinueNeeded;
        }
    }

    private void Establish()
    {
        SspiSizes sizes;
        uint flags;
        SspiNegotiation negotiation = default;
        fixed (SspiHandle* context = &_context)
        {
            int status = SspiApi.QueryContextAttributes(context, SspiApi.OfSizes, &sizes);
            if (status != SspiStatus.Ok)
            {
                throw SspiStatus.Refused(_mechanism, status);
            }

            // Some packages return the flags only here (seen with Wine).
            if (SspiApi.QueryContextAttributes(context, SspiApi.OfFlags, &flags) == SspiStatus.Ok)
            {
                _flags = flags;
            }

            // The negotiated package; if the system does not report it, the requested one.
            if (SspiApi.QueryContextAttributes(context, SspiApi.OfNegotiation, &negotiation) == SspiStatus.Ok)
            {
                _mechanism = negotiation.TakeName() ?? _mechanism;
            }

            // NTLM has no service names.
            if (_isServer && _target is not null && _mechanism != SecurityPackage.NameOf(
                SecurityPackage.Ntlm))
            {
                CheckTarget(context);
            }
        }

        _sizes = sizes;
        _isComplete = true;
    }

    // A credential handle for callers belongs to an account, not to one of its services. So the requested
    // service name is checked separately.
    private void CheckTarget(SspiHandle* context)
    {
        SspiTarget target;
        int status = SspiApi.QueryContextAttributes(context, SspiApi.OfTarget, &target);
        string asked = status == SspiStatus.Ok
            ? target.TakeName()
            : throw SspiStatus.Refused(_mechanism, status);
        if (!asked.Equals(_target, StringComparison.OrdinalIgnoreCase))
        {
            throw SecurityErrors.Refused(
                _mechanism, $"the caller authenticated to '{asked}', but this service is '{_target}'");
        }
    }

    private WindowsIdentity ReadCaller()
    {
        nint token = 0;
        fixed (SspiHandle* context = &_context)
        {
            int status = SspiApi.QuerySecurityContextToken(context, &token);
            if (status != SspiStatus.Ok)
            {
                throw SspiStatus.Refused(_mechanism, status);
            }
        }

        // WindowsIdentity duplicates the token, so it can be closed.
        using SafeAccessTokenHandle own = new(token);
        try
        {
            WindowsIdentity caller = new(token, _mechanism);

            // Windows also accepts anonymous callers, and unknown accounts as guests if guests are enabled.
            return caller.IsAuthenticated
                ? caller
                : throw SecurityErrors.Refused(_mechanism, $"'{caller.Name}' is anonymous or a guest");
        }
        catch (Exception e) when (e is ArgumentException or SecurityException or Win32Exception)
        {
            throw SecurityErrors.Refused(
                _mechanism, $"the system's token of the caller cannot be used: {e.Message}", e);
        }
    }

    private void Free()
    {
        if (_isDisposed)
        {
            return;
        }

        _isDisposed = true;
        if (_hasContext)
        {
            fixed (SspiHandle* context = &_context)
            {
                SspiApi.DeleteSecurityContext(context);
            }
        }
    }
}

/// <summary>When Windows authenticates, and by which package; the rest is the same on every system.</summary>
internal static class SspiChoice
{
    /// <summary>The package by which a client on TCP authenticates.</summary>
    /// <param name="security">The client's settings.</param>
    /// <param name="isWindows">Whether SSPI is available.</param>
    /// <returns>Null when SSPI has no part in it. NTLM with a password needs no system.</returns>
    public static byte? OfClient(RpcClientSecurity security, bool isWindows)
    {
        if (!isWindows)
        {
            return null;
        }

        SecurityMechanism mechanism = SecurityMechanisms.Get(security.Mechanism, usual: RpcMechanism.Ntlm);
        bool isSelf = security.Authentication == RpcClientAuthentication.Self;
        return isSelf || mechanism.NeedsSystemForPasswords ? mechanism.Package : null;
    }

    /// <summary>The packages by which a listener verifies callers.</summary>
    /// <param name="security">The server's settings.</param>
    /// <param name="isWindows">Whether SSPI is available.</param>
    /// <returns>Empty when SSPI has no part in it. A listener that was given accounts verifies NTLM by
    /// these.</returns>
    public static IReadOnlyList<byte> OfServer(RpcServerSecurity security, bool isWindows)
    {
        if (!isWindows)
        {
            return [];
        }

        bool hasAccounts = security.NtlmAccounts.Count > 0;
        return
        [
            .. SecurityMechanisms.All
                .Where(mechanism => security.Authentication.HasFlag(mechanism.Accepted)
                    && !(hasAccounts && mechanism.TakesAccounts))
                .Select(mechanism => mechanism.Package),
        ];
    }
}

/// <summary><c>SecPkgContext_NegotiationInfo</c>: which package both sides agreed on.</summary>
[SupportedOSPlatform("windows")]
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct SspiNegotiation
{
    private SspiPackageInfo* _package;
    private uint _state;

    /// <summary>Returns the package's name, and frees the system's memory.</summary>
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

    /// <summary>Returns the service principal name, and frees the system's memory.</summary>
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

/// <summary>The requested properties of a context. The numbers differ between clients and servers.</summary>
internal static class SspiFlags
{
    /// <summary>Mutual authentication, replay and sequence detection, confidentiality, DCE style, a
    /// connection, and integrity.</summary>
    public const uint OfClient = 0x2 | 0x4 | 0x8 | Confidentiality | DceStyle | 0x800 | ClientIntegrity;

    /// <summary>The same for a server, which need not ask for mutual authentication.</summary>
    public const uint OfDceServer = OfServer | DceStyle;

    /// <summary>The same without DCE style, which callers of HTTP do not speak.</summary>
    public const uint OfServer = 0x4 | 0x8 | Confidentiality | 0x800 | ServerIntegrity;

    public const uint Confidentiality = 0x10;
    public const uint ClientIntegrity = 0x10000;
    public const uint ServerIntegrity = 0x20000;
    private const uint DceStyle = 0x200;

    /// <summary>Whether the properties of a context suffice for a level.</summary>
    public static bool Support(uint got, bool isServer, RpcProtectionLevel level)
    {
        uint integrity = isServer ? ServerIntegrity : ClientIntegrity;
        uint needed = level switch
        {
            <= RpcProtectionLevel.Connect => 0,
            RpcProtectionLevel.Privacy => Confidentiality | integrity,
            _ => integrity,
        };
        return (got & needed) == needed;
    }
}
