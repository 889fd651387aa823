using System.Formats.Asn1;
using System.Security.Principal;

namespace ProtoRpc.Security.Gss;

/// <summary>Kerberos by GSSAPI, with the third leg and the message layout of DCE: the client replies to the
/// server's token, and the data that encryption adds is in one token before the message (RFC 4757 section
/// 7.3, [MS-KILE] section 3.4.5.4).</summary>
internal sealed unsafe class KerberosContext : SecurityContext
{
    private readonly GssCredential _credential;
    private readonly bool _ownsCredential;
    private readonly GssName? _target;
    private nint _context;
    private uint _flags;
    private bool _isComplete;
    private bool _isDisposed;
    private bool _isDce = true;
    private GenericIdentity? _caller;

    private KerberosContext(GssCredential credential, bool ownsCredential, GssName? target)
    {
        _credential = credential;
        _ownsCredential = ownsCredential;
        _target = target;
    }

    /// <summary>Frees the native context if the object was not disposed.</summary>
    ~KerberosContext() => Free();

    public override string AuthenticationType => GssErrors.Mechanism;

    public override bool IsComplete => _isComplete;

    public override IIdentity Identity => _caller ?? new GenericIdentity("");

    /// <summary>Creates the context of a client.</summary>
    /// <param name="credential">The credential of the client. The context frees it.</param>
    /// <param name="target">The service's name.</param>
    public static KerberosContext ForClient(GssCredential credential, string target)
    {
        try
        {
            return new KerberosContext(credential, ownsCredential: true, new GssName(target));
        }
        catch
        {
            credential.Dispose();
            throw;
        }
    }

    /// <summary>A server's side.</summary>
    /// <param name="credential">The service's keys, which other contexts use too.</param>
    /// <param name="isDce">Whether the caller speaks DCE/RPC.</param>
    public static KerberosContext ForServer(GssCredential credential, bool isDce = true) =>
        new(credential, ownsCredential: false, null) { _isDce = isDce };

    public override byte[] Step(ReadOnlySpan<byte> token)
    {
        if (_isComplete)
        {
            throw SecurityErrors.OutOfTurn(AuthenticationType);
        }

        if (_target is null && _context == 0 && _isDce)
        {
            // Some clients request DCE style but send a frame (seen with impacket 0.10). Windows accepts it,
            // MIT's library does not, so the frame is removed. Callers of DCE/RPC always use DCE style;
            // callers of HTTP always send a frame.
            token = GssFrame.Remove(token);
        }

        uint minor;
        uint flags = 0;
        uint major;
        GssBuffer output = default;
        nint context = _context;
        nint caller = 0;
        fixed (byte* pointer = token)
        {
            GssBuffer input = new(pointer, token.Length);
            major = _target is not null
                ? GssApi.gss_init_sec_context(
                    &minor, _credential.DangerousGetHandle(), &context, _target.DangerousGetHandle(),
                    GssOid.Kerberos, GssApi.ContextFlags, 0, 0, &input, null, &output, &flags, null)
                : GssApi.gss_accept_sec_context(
                    &minor, &context, _credential.DangerousGetHandle(), &input, 0, &caller, null,
                    &output, &flags, null, null);
        }

        _context = context;
        _flags = flags;
        byte[] next = GssBuffer.Take(ref output);
        if ((major & GssApi.Failures) != 0)
        {
            throw GssErrors.Refused(major, minor);
        }

        _isComplete = (major & GssApi.ContinueNeeded) == 0;
        if (caller != 0)
        {
            try
            {
                _caller = IdentityOf(GssName.Display(caller));
            }
            finally
            {
                GssApi.gss_release_name(&minor, &caller);
            }
        }

        return next;
    }

    // RFC 8062: a KDC issues tickets for this anonymous user without authentication, with or without a realm.
    private static GenericIdentity IdentityOf(string name) =>
        name.StartsWith("WELLKNOWN/ANONYMOUS@", StringComparison.Ordinal)
            ? throw SecurityErrors.Refused(GssErrors.Mechanism, $"'{name}' is anonymous")
            : new GenericIdentity(name, GssErrors.Mechanism);

    public override bool Supports(RpcProtectionLevel level) =>
        (level <= RpcProtectionLevel.Connect || (_flags & GssApi.Integrity) != 0)
        && (level != RpcProtectionLevel.Privacy || (_flags & GssApi.Confidentiality) != 0);

    public override int SignatureSize(bool encrypted)
    {
        // The size of the token does not depend on the size of the data, if it is aligned.
        const int SomeData = 16;
        GssIov* parts = stackalloc GssIov[2];
        parts[0] = new GssIov(
            encrypted ? GssIov.Header : GssIov.Data, new GssBuffer(null, encrypted ? 0 : SomeData));
        parts[1] = new GssIov(
            encrypted ? GssIov.Data : GssIov.Mic, new GssBuffer(null, encrypted ? SomeData : 0));
        uint minor;
        int isEncrypted;
        uint major = encrypted
            ? GssApi.gss_wrap_iov_length(&minor, _context, 1, 0, &isEncrypted, parts, 2)
            : GssApi.gss_get_mic_iov_length(&minor, _context, 0, parts, 2);
        return major == 0
            ? (int)parts[encrypted ? 0 : 1].Buffer.Length
            : throw GssErrors.Refused(major, minor);
    }

    public override void Protect(Span<byte> pdu, Range data, bool encrypt, Span<byte> signature)
    {
        if (!encrypt)
        {
            Sign(Signed(pdu, data)).CopyTo(signature);
            return;
        }

        uint minor;
        int isEncrypted;
        GssIov* parts = stackalloc GssIov[4];
        fixed (byte* start = pdu)
        fixed (byte* token = signature)
        {
            int count = Describe(parts, start, pdu.Length, data, new GssBuffer(token, signature.Length));
            uint major = GssApi.gss_wrap_iov(&minor, _context, 1, 0, &isEncrypted, parts, count);
            if (major != 0)
            {
                throw GssErrors.Refused(major, minor);
            }
        }
    }

    public override bool Unprotect(Span<byte> pdu, Range data, bool encrypted, ReadOnlySpan<byte> signature)
    {
        if (!encrypted)
        {
            return Verify(Signed(pdu, data), signature);
        }

        uint minor;
        int isEncrypted;
        GssIov* parts = stackalloc GssIov[4];

        // The library decrypts the token in place.
        byte[] copy = signature.ToArray();
        fixed (byte* start = pdu)
        fixed (byte* token = copy)
        {
            int count = Describe(parts, start, pdu.Length, data, new GssBuffer(token, copy.Length));
            return GssApi.gss_unwrap_iov(&minor, _context, &isEncrypted, null, parts, count) == 0
                && isEncrypted != 0;
        }
    }

    public override byte[] SignNegotiation(ReadOnlySpan<byte> mechanisms) => Sign(mechanisms);

    public override bool VerifyNegotiation(ReadOnlySpan<byte> mechanisms, ReadOnlySpan<byte> code) =>
        Verify(mechanisms, code);

    public override void Dispose()
    {
        Free();
        GC.SuppressFinalize(this);
    }

    private void Free()
    {
        if (_isDisposed)
        {
            return;
        }

        _isDisposed = true;
        if (_context != 0)
        {
            uint minor;
            nint context = _context;
            GssApi.gss_delete_sec_context(&minor, &context, null);
            _context = 0;
        }

        _target?.Dispose();
        if (_ownsCredential)
        {
            _credential.Dispose();
        }
    }

    private ReadOnlySpan<byte> Signed(Span<byte> pdu, Range data) => SignsHeaders ? pdu : pdu[data];

    // If both sides negotiated header signing, the header and the trailer of the PDU are signed around the
    // data.
    private int Describe(GssIov* parts, byte* pdu, int length, Range data, GssBuffer token)
    {
        (int offset, int size) = data.GetOffsetAndLength(length);
        int count = 0;
        parts[count++] = new GssIov(GssIov.Header, token);
        if (SignsHeaders)
        {
            parts[count++] = new GssIov(GssIov.SignOnly, new GssBuffer(pdu, offset));
        }

        parts[count++] = new GssIov(GssIov.Data, new GssBuffer(pdu + offset, size));
        if (SignsHeaders)
        {
            int end = offset + size;
            parts[count++] = new GssIov(GssIov.SignOnly, new GssBuffer(pdu + end, length - end));
        }

        return count;
    }

    private byte[] Sign(ReadOnlySpan<byte> message)
    {
        uint minor;
        GssBuffer code = default;
        fixed (byte* pointer = message)
        {
            GssBuffer text = new(pointer, message.Length);
            uint major = GssApi.gss_get_mic(&minor, _context, 0, &text, &code);
            return major == 0 ? GssBuffer.Take(ref code) : throw GssErrors.Refused(major, minor);
        }
    }

    // Other results than 0 also report repeated, old and missing messages.
    private bool Verify(ReadOnlySpan<byte> message, ReadOnlySpan<byte> code)
    {
        uint minor;
        fixed (byte* pointer = message)
        fixed (byte* token = code)
        {
            GssBuffer text = new(pointer, message.Length);
            GssBuffer proof = new(token, code.Length);
            return GssApi.gss_verify_mic(&minor, _context, &text, &proof, null) == 0;
        }
    }
}

/// <summary>The frame of GSSAPI around the first token of a mechanism (RFC 2743 section 3.1), which DCE style
/// omits.</summary>
internal static class GssFrame
{
    private const string Kerberos = "1.2.840.113554.1.2.2";
    private static readonly Asn1Tag Tag = new(TagClass.Application, 0, isConstructed: true);

    // The id of a token (RFC 4121 section 4.1).
    private static ReadOnlySpan<byte> IsRequest => [0x01, 0x00];

    /// <summary>The request of Kerberos in a frame.</summary>
    /// <returns>The token itself if it has no such frame.</returns>
    public static ReadOnlySpan<byte> Remove(ReadOnlySpan<byte> token)
    {
        if (!AsnDecoder.TryReadEncodedValue(
                token, AsnEncodingRules.BER,
                out Asn1Tag tag, out int offset, out int length, out int consumed)
            || tag != Tag || consumed != token.Length)
        {
            return token;
        }

        ReadOnlySpan<byte> content = token.Slice(offset, length);
        try
        {
            return AsnDecoder.ReadObjectIdentifier(content, AsnEncodingRules.BER, out int read) == Kerberos
                && content[read..].StartsWith(IsRequest)
                ? content[(read + IsRequest.Length)..]
                : token;
        }
        catch (AsnContentException)
        {
            return token;
        }
    }
}
