using System.Security.Cryptography;
using ProtoRpc.Security;

namespace ProtoRpc.Protocols.Dce;

/// <summary>Authenticates one connection of a client: creates and processes the tokens of the bind.</summary>
internal sealed class ClientSecurity : IDisposable
{
    // Authentication usually needs two or three tokens.
    private const int MaxLegs = 10;

    // Any number, because a connection has only one security context.
    private const uint TrailerContext = 79231;

    private readonly RpcEndpoint _endpoint;
    private readonly ClientLogin _login;
    private readonly SecurityContext _context;
    private readonly AuthTrailer _trailer;
    private byte[] _token = [];
    private int _legs;

    /// <exception cref="RpcException">The authentication cannot begin.</exception>
    public ClientSecurity(RpcEndpoint endpoint, ClientLogin login)
    {
        _endpoint = endpoint;
        _login = login;
        _context = login.Begin();
        _trailer = new AuthTrailer(login.Package, (byte)login.Level, 0, TrailerContext);
    }

    /// <summary>Whether the client's side of the authentication is complete.</summary>
    public bool IsComplete => _context.IsComplete;

    /// <summary>Whether there is a token to send.</summary>
    public bool HasToken => _token.Length > 0;

    /// <summary>The user, for errors.</summary>
    public string User => _login.User;

    /// <summary>The security package, for errors.</summary>
    public string Mechanism => SecurityPackage.NameOf(_login.Package);

    /// <summary>Protects the calls after authentication; null if the level requires no protection.</summary>
    public PduProtection? Protection { get; private set; }

    /// <summary>Adds the first token to the bind.</summary>
    public byte[] Begin(byte[] bind)
    {
        Step(default);
        PduHeader header = PduHeader.Read(bind);
        PduHeader.Write(
            bind, header.Type, header.Flags | PduFlags.HeaderSigning, bind.Length, 0, header.CallId);
        return Attach(bind);
    }

    /// <summary>Processes the token in the server's reply.</summary>
    /// <exception cref="RpcException">Unauthenticated: the server violates the authentication.</exception>
    public void Take(in PduHeader header, ReadOnlySpan<byte> pdu)
    {
        if (header.Type == PduType.BindAck)
        {
            _context.SignsHeaders = header.Flags.HasFlag(PduFlags.HeaderSigning);
        }

        // Without a token the calls would be anonymous and not protected.
        if (header.AuthLength == 0)
        {
            throw Refused("it replied without an authentication token");
        }

        if (++_legs >= MaxLegs)
        {
            throw Refused($"it requested more than {MaxLegs} tokens");
        }

        if (!AuthTrailer.TryRead(header, pdu, PduHeader.Size, out AuthTrailer trailer)
            || trailer with { PadLength = 0 } != _trailer)
        {
            throw Refused("it replied with another authentication type or level than requested");
        }

        Step(pdu[^header.AuthLength..]);
        if (!IsComplete)
        {
            if (!HasToken)
            {
                throw Refused("it did not complete the authentication, and no token is left to send");
            }
        }
        else if (!_context.Supports(_login.Level))
        {
            throw Refused($"it does not support protection level {_login.Level}");
        }
        else
        {
            Protection = ContextProtection.Create(_context, _trailer);
        }
    }

    /// <summary>Adds the next token to a PDU.</summary>
    public byte[] Attach(byte[] pdu)
    {
        byte[] token = _token;
        _token = [];
        return AuthTrailer.Append(pdu, _trailer, token);
    }

    /// <summary>The error if the server rejects the first call: this is its reply to the last
    /// token.</summary>
    public RpcException NotAccepted(uint status = 0) => Refused(
        "the account does not exist there, its password is wrong, or it may not call", status: status);

    /// <summary>The error if the server rejects the bind because of the authentication.</summary>
    public RpcException BindNotAccepted(BindNakReason reason) => reason == BindNakReason.AuthenticationType
        ? new RpcException(
            RpcStatusCode.Unauthenticated, RpcErrorIds.MechanismNotOffered,
            $"'{_endpoint}' does not offer {Mechanism}. "
            + "Use another mechanism, or connect without authentication.", _endpoint)
        : NotAccepted();

    public void Dispose() => _context.Dispose();

    private void Step(ReadOnlySpan<byte> token)
    {
        try
        {
            _token = _context.Step(token);
        }
        catch (RpcException e)
        {
            e.Endpoint ??= _endpoint;
            throw;
        }
        catch (CryptographicException e)
        {
            // For example on a system in FIPS mode, where NTLM's MD5 is not available.
            throw Refused(e.Message, e);
        }
    }

    private RpcException Refused(string why, Exception? cause = null, uint status = 0) => new(
        RpcStatusCode.Unauthenticated,
        $"'{_endpoint}' did not authenticate '{User}' with {Mechanism}: {why}.",
        cause)
    {
        ErrorId = RpcErrorIds.AuthenticationFailed,
        Endpoint = _endpoint,
        NativeStatus = status,
    };
}

/// <summary>Protects calls with the keys of an authentication.</summary>
internal sealed class ContextProtection(SecurityContext context, AuthTrailer trailer) : PduProtection
{
    private readonly bool _encrypts = trailer.Level == (byte)RpcProtectionLevel.Privacy;

    public override AuthTrailer Trailer { get; } = trailer with { PadLength = 0 };

    public override int SignatureLength { get; } =
        context.SignatureSize(trailer.Level == (byte)RpcProtectionLevel.Privacy);

    /// <summary>The protection that a level requires; null for none.</summary>
    public static ContextProtection? Create(SecurityContext context, AuthTrailer trailer) =>
        trailer.Level > (byte)RpcProtectionLevel.Connect ? new ContextProtection(context, trailer) : null;

    public override void Protect(Span<byte> pdu, int stubOffset)
    {
        int end = pdu.Length - SignatureLength;
        context.Protect(pdu[..end], stubOffset..(end - AuthTrailer.Size), _encrypts, pdu[end..]);
    }

    public override bool TryUnprotect(Span<byte> pdu, int stubOffset, int signatureLength)
    {
        int end = pdu.Length - signatureLength;
        return context.Unprotect(pdu[..end], stubOffset..(end - AuthTrailer.Size), _encrypts, pdu[end..]);
    }
}
