using System.Net;
using System.Runtime.CompilerServices;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Security.Principal;
using ProtoRpc.Server;

namespace ProtoRpc.Tool.Verbs;

/// <summary>The options of the endpoints that a verb listens on: TLS, whom to let in, and what to
/// record.</summary>
internal sealed class ListenOptions
{
    private readonly Option<bool> _tls;
    private readonly Option<string?> _certificate;
    private readonly Option<string?> _key;
    private readonly Option<string[]> _authorities;
    private readonly Option<string[]> _users;
    private readonly Option<string?> _bearer;
    private readonly Option<string[]> _authentication;
    private readonly Option<string[]> _allowedUsers;
    private readonly Option<string[]> _allowedGroups;
    private readonly Option<bool> _allowUnencrypted;
    private readonly Option<string?> _record;
    private readonly Option<string[]> _mask;

    /// <param name="command">The verb.</param>
    /// <param name="prefix">The prefix of the option names for a command that also connects:
    /// <c>listen-</c>.</param>
    public ListenOptions(Command command, string prefix = "")
    {
        _tls = new($"--{prefix}tls") { Description = "Speaks TLS on tcp:// endpoints." };
        _certificate = new($"--{prefix}cert")
        {
            Description = "The certificate of endpoints with TLS: a PEM file, or a PFX file without a "
                + "password.",
            HelpName = "FILE",
        };
        _key = new($"--{prefix}key")
        {
            Description = $"The private key of --{prefix}cert, a PEM file, where that does not have it.",
            HelpName = "FILE",
        };
        _authorities = new($"--{prefix}cacert")
        {
            Description = "Lets in callers on https:// and grpcs:// whose certificate is of these "
                + "authorities, a PEM file, but not the authorities themselves; may be repeated.",
            HelpName = "FILE",
        };
        _users = new($"--{prefix}user")
        {
            Description = "Lets in a user: by password on HTTP and gRPC, by NTLM on native endpoints. With "
                + "NAME alone, the password is asked for; NAME:env:VARIABLE reads it from the environment. "
                + "Other users of the machine can see a password that is given here. May be repeated.",
            HelpName = "NAME[:PASSWORD]",
        };
        _bearer = new($"--{prefix}bearer")
        {
            Description = "Lets in callers with this token on HTTP and gRPC. env:VARIABLE reads it from the "
                + "environment; other users of the machine can see a token that is given here.",
            HelpName = "TOKEN",
        };
        _authentication = new($"--{prefix}auth")
        {
            Description = "Lets in callers who prove who they are so; may be repeated. none also lets in "
                + "anonymous callers.",
            HelpName = "none|ntlm|kerberos|negotiate",
        };
        _authentication.AcceptOnlyFromAmong("none", "ntlm", "kerberos", "negotiate");
        _allowedUsers = new ToolOption<string[]>(
            $"--{prefix}allow-user", "NAME",
            "Lets in this user of the machine on ncalrpc, ncacn_np and grpc+unix endpoints, which are "
            + "otherwise for the account that listens and root; may be repeated.");
        _allowedGroups = new ToolOption<string[]>(
            $"--{prefix}allow-group", "NAME",
            "Lets in the members of this group of the machine on the endpoints of "
            + $"--{prefix}allow-user; may be repeated.");
        _allowUnencrypted = new($"--{prefix}allow-unencrypted")
        {
            Description = "Lets other machines reach http:// and grpc:// endpoints, without TLS.",
        };
        _record = new("--record")
        {
            Description = "Writes each call to a file, as a line of JSON with its messages.",
            HelpName = "FILE",
        };
        _mask = new("--mask")
        {
            Description = "A field whose value --record leaves out; may be repeated.",
            HelpName = "FIELD",
        };
        _record.RequirePath();
        Option[] all =
        [
            _tls, _certificate, _key, _authorities, _users, _bearer, _authentication, _allowedUsers,
            _allowedGroups, _allowUnencrypted, _record, _mask,
        ];
        Array.ForEach(all, command.Add);
    }

    /// <summary>The options of a server on some endpoints.</summary>
    /// <param name="parsed">The command line.</param>
    /// <param name="endpoints">The endpoints.</param>
    /// <param name="recorder">Records the calls; null for no record.</param>
    /// <param name="console">Reads the environment.</param>
    /// <exception cref="UsageException">An option does not fit the endpoints, or would not protect
    /// them.</exception>
    public RpcServerOptions ServerOptions(
        ParseResult parsed, IReadOnlyList<RpcEndpoint> endpoints, RpcCallRecorder? recorder,
        ToolConsole console)
    {
        ListenAccess access = new(
            [.. (parsed.GetValue(_users) ?? [])
                .Select(text => SecretText.ReadUser(_users.Name, text, console))],
            parsed.GetValue(_bearer) is { } token ? SecretText.Read(_bearer.Name, token, console) : null,
            CertificateFiles.ReadAuthorities(_authorities.Name, parsed.GetValue(_authorities) ?? []),
            (parsed.GetValue(_authentication) ?? []).Aggregate(
                default(RpcAuthentication),
                (all, one) => all | Enum.Parse<RpcAuthentication>(one, ignoreCase: true)));
        RpcServerOptions options = new()
        {
            UseTls = parsed.GetValue(_tls),
            Security = access.OfServer() with
            {
                AllowedUsers = parsed.GetValue(_allowedUsers) ?? [],
                AllowedGroups = parsed.GetValue(_allowedGroups) ?? [],
            },
            Interceptors = recorder is null ? [] : [recorder],
        };
        CheckAccess(access, options, endpoints);
        if (parsed.GetValue(_certificate) is { } path)
        {
            (X509Certificate2 own, X509Certificate2Collection chain) =
                CertificateFiles.ReadWithKey(_certificate.Name, path, parsed.GetValue(_key));
            options = options with { Certificate = own, CertificateChain = chain };
        }

        CheckTls(parsed, options, endpoints);
        return endpoints.Any(endpoint => endpoint.Has(EndpointFeatures.AspNetCore))
            ? WithHttp(options, access, parsed.GetValue(_allowUnencrypted))
            : options;
    }

    /// <summary>Opens the recorder of calls; null if no recording was requested.</summary>
    /// <exception cref="RpcException">The file cannot be written.</exception>
    public RpcCallRecorder? OpenRecorder(ParseResult parsed, ToolConsole console)
    {
        string[] masks = parsed.GetValue(_mask) ?? [];
        if (parsed.GetValue(_record) is not { } path)
        {
            return masks.Length == 0
                ? null
                : throw new UsageException("--mask leaves fields out of --record. Give both.");
        }

        return new RpcCallRecorder(path, new() { Mask = masks, Warning = console.WriteError });
    }

    /// <summary>Says which masks no field has.</summary>
    public static void WarnOfMasks(RpcCallRecorder? recorder, RpcServer server, ToolConsole console)
    {
        foreach (string mask in recorder?.FindUnknownMasks(server.Services.Select(one => one.Key)) ?? [])
        {
            console.WriteError(
                $"--mask '{mask}' matches no field of the services' messages. It only masks keys of "
                + "maps and Struct.");
        }
    }

    // Native endpoints support neither tokens nor client certificates, so they would stay open to all
    // callers.
    private void CheckAccess(
        ListenAccess access, RpcServerOptions options, IReadOnlyList<RpcEndpoint> endpoints)
    {
        if (UncheckedEndpoints.FindFirst(endpoints, options.Protocols, options.Security, access.IsGiven)
            is { } endpoint)
        {
            throw new UsageException(
                $"'{endpoint}' would accept anonymous callers: native endpoints have no tokens and no client "
                + $"certificates. Give {_users.Name} or {_authentication.Name} as well; "
                + $"{_authentication.Name} none accepts anonymous callers.");
        }
    }

    private void CheckTls(
        ParseResult parsed, RpcServerOptions options, IReadOnlyList<RpcEndpoint> endpoints)
    {
        bool speaksTls = endpoints.Any(endpoint =>
            endpoint.IsTls || (options.UseTls && endpoint.Has(EndpointFeatures.OptionalTls)));
        (bool IsGiven, Option Option)[] ofTls =
        [
            (options.UseTls, _tls),
            (options.Certificate is not null, _certificate),
            (parsed.GetValue(_authorities) is { Length: > 0 }, _authorities),
        ];
        if (!speaksTls && ofTls.FirstOrDefault(one => one.IsGiven).Option is { } misfit)
        {
            throw new UsageException(
                $"{misfit.Name} cannot be used with "
                + $"{string.Join(", ", endpoints.Select(one => $"'{one}'"))}. "
                + $"It is for endpoints with TLS: https://, grpcs://, and tcp:// with {_tls.Name}.");
        }

        if (speaksTls && options.Certificate is null)
        {
            throw new UsageException(
                $"Endpoints with TLS need a certificate. Give it with {_certificate.Name} FILE.");
        }

        if (parsed.GetValue(_key) is not null && options.Certificate is null)
        {
            throw new UsageException($"{_key.Name} is the key of {_certificate.Name}. Give both.");
        }
    }

    // A separate method, so that ASP.NET Core is only loaded if HTTP is used.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static RpcServerOptions WithHttp(
        RpcServerOptions options, ListenAccess access, bool allowUnencrypted) => options.WithHttp(new()
        {
            AllowUnencrypted = allowUnencrypted,
            Security = access.OfHttp(),
        });
}

/// <summary>The callers that a listener of the tool accepts.</summary>
/// <param name="Users">Users with their passwords.</param>
/// <param name="Token">The bearer token; null for none.</param>
/// <param name="Authorities">The authorities of callers' certificates.</param>
/// <param name="Accepted">The mechanisms that were named; 0 for none.</param>
internal sealed record ListenAccess(
    IReadOnlyList<NetworkCredential> Users, string? Token, X509Certificate2Collection Authorities,
    RpcAuthentication Accepted)
{
    /// <summary>Whether any option was given.</summary>
    public bool IsGiven => Users.Count > 0 || Token is not null || Authorities.Count > 0 || Accepted != 0;

    /// <summary>Of native endpoints.</summary>
    public RpcServerSecurity OfServer()
    {
        RpcServerSecurity security = new() { NtlmAccounts = [.. Users.Select(NtlmAccount.From)] };
        return Accepted != 0 ? security with { Authentication = Accepted }
            : Users.Count > 0 ? security with { Authentication = RpcAuthentication.Ntlm }
            : security;
    }

    /// <summary>Of HTTP and gRPC endpoints.</summary>
    public HttpServerSecurity OfHttp() => new()
    {
        Basic = Users.Count == 0 ? null : (given, _) => new(FindUser(given)),
        Bearer = Token is null
            ? null
            : (given, _) => new(IsSame(given, Token) ? new GenericIdentity("bearer", "Bearer") : null),
        ClientCaCertificates = Authorities.Count == 0 ? null : Authorities,
        AllowAnonymous = Accepted.HasFlag(RpcAuthentication.None),
    };

    // Compares all users, so that the time does not reveal which users exist.
    private GenericIdentity? FindUser(NetworkCredential given)
    {
        GenericIdentity? found = null;
        foreach (NetworkCredential user in Users)
        {
            bool isName = IsSame(given.UserName, user.UserName);
            if (IsSame(given.Password, user.Password) & isName)
            {
                found = new GenericIdentity(user.UserName, "Basic");
            }
        }

        return found;
    }

    private static bool IsSame(string given, string known) => CryptographicOperations.FixedTimeEquals(
        SHA256.HashData(Encoding.UTF8.GetBytes(given)), SHA256.HashData(Encoding.UTF8.GetBytes(known)));
}
