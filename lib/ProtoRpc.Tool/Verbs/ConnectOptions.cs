using System.Net;
using System.Text.RegularExpressions;
using ProtoRpc.Formats;
using ProtoRpc.Transports.Http;

namespace ProtoRpc.Tool.Verbs;

/// <summary>The options that say as whom a server is called, whom to trust, and which headers go with each
/// call.</summary>
internal sealed partial class ConnectOptions
{
    private readonly ToolFlag _tls = new(
        "--tls", "Uses TLS on tcp://. For other endpoints, the scheme decides.");

    private readonly ToolOption<string[]> _authorities = new(
        "--cacert", "FILE", "A PEM file of authorities to trust instead of the machine's; may be repeated.");

    private readonly ToolOption<string?> _certificate = new(
        "--cert", "FILE", "The client's own certificate: a PEM file, or a PFX file without a password.");

    private readonly ToolOption<string?> _key = new(
        "--key", "FILE", "The private key of --cert, a PEM file, where that does not have it.");

    private readonly ToolFlag _insecure = new(
        "--insecure",
        "Accepts any certificate. Anyone between client and server can read and change everything.", "-k");

    private readonly ToolOption<string?> _serverName = new(
        "--servername", "NAME",
        "The name that the server is called by and that its certificate must have, instead of the "
        + "endpoint's host.",
        "--authority");

    private readonly ToolOption<string?> _user = new(
        "--user", "NAME[:PASSWORD]",
        "The user to call as. With NAME alone, the password is asked for; NAME:env:VARIABLE reads it "
        + "from the environment. Other users of the machine can see a password that is given here.",
        "-u");

    private readonly ToolOption<string?> _bearer = new(
        "--bearer", "TOKEN",
        "The bearer token for HTTP and gRPC. env:VARIABLE reads it from the environment; other users of "
        + "the machine can see a token that is given here.");

    private readonly ToolOption<string?> _authentication = new(
        "--auth", "self|ntlm|kerberos|negotiate",
        "How the user is authenticated, on native and HTTP endpoints; self is the account of this "
        + "process.");

    private readonly ToolOption<string?> _principal = new(
        "--spn", "NAME", "The name of the service for Kerberos, as host/server.example.com.");

    private readonly ToolOption<string?> _serverUser = new(
        "--server-user", "NAME",
        "The account that must run the server of a local socket or pipe: a name, user id or SID. "
        + "Without it, only the own account and administrators get tokens and passwords.");

    private readonly ToolFlag _plaintext = new(
        "--plaintext",
        "Calls HOST:PORT and names of gRPC, as dns:///HOST:PORT, without TLS: grpc:// instead of grpcs://.");

    private readonly ToolOption<string?> _proxy = new(
        "--proxy", "ADDRESS",
        "The proxy for HTTP and gRPC, as http://HOST:PORT, instead of that of the environment "
        + "(HTTPS_PROXY, ALL_PROXY, NO_PROXY); none for none.");

    private readonly ToolFlag _get = new(
        "--http-get",
        "Calls methods without side effects by GET, on connect:// and connects:// endpoints.");

    private readonly ToolFlag _webText = new(
        "--grpc-web-text",
        "Uses the text form of gRPC-Web, on grpcweb:// and grpcwebs:// endpoints.");

    private readonly HeaderOptions _headers;

    /// <param name="command">Gets the options.</param>
    /// <param name="reflects">Whether the command asks servers for their schema.</param>
    public ConnectOptions(Command command, bool reflects = false)
    {
        _authentication.AcceptOnlyFromAmong("self", "ntlm", "kerberos", "negotiate");
        Option[] all =
        [
            _plaintext, _tls, _authorities, _certificate, _key, _insecure, _serverName, _user, _bearer,
            _authentication, _principal, _serverUser, _proxy, _get, _webText,
        ];
        Array.ForEach(all, command.Add);
        _headers = new HeaderOptions(command, reflects);
    }

    /// <summary>The headers for only the call, or only reflection.</summary>
    public HeaderOptions Headers => _headers;

    /// <summary>Whether an argument is written as an endpoint, and not as a name.</summary>
    public bool IsEndpoint(string text) => HostAndPort().IsMatch(text) || RpcEndpoint.TryParse(text, out _);

    /// <summary>The endpoint of HOST:PORT or of a gRPC name; other texts unchanged.</summary>
    public static string Expand(string text, bool isPlain) =>
        HostAndPort().IsMatch(text) ? $"{(isPlain ? "grpc" : "grpcs")}://{text}"
        : GrpcNameSyntax.IsName(text) && GrpcNameSyntax.Read(text, !isPlain, out _) is { } named ? named.Uri
        : text;

    /// <summary>The server that an argument names: an endpoint, a registered name, or HOST:PORT as users of
    /// other clients of gRPC write it.</summary>
    /// <exception cref="UsageException">--plaintext for an endpoint that speaks TLS; a pattern that several
    /// names match.</exception>
    /// <exception cref="RpcException">It is neither, or the file of names cannot be read.</exception>
    public ToolTarget FindTarget(ParseResult parsed, string text, ToolConsole console)
    {
        bool isPlain = parsed.GetValue(_plaintext);
        ToolTarget target;
        try
        {
            target = ToolTarget.Find(Expand(text, isPlain), console);
        }
        catch (RpcException e) when (e.ErrorId == RpcErrorIds.InvalidEndpoint
            && parsed.CommandResult.Tokens is [{ Value: var first }, { Value: var other }, ..]
            && first == text && RpcEndpoint.TryParse(other, out _))
        {
            string shown = TerminalText.OneLine(text, ToolCommand.MaxWord);
            throw new UsageException(
                $"'{shown}' is not an endpoint, and '{other}' is one. The endpoint comes first: "
                + $"protorpc {parsed.CommandResult.Command.Name} {other} {shown}",
                e);
        }

        return isPlain && target.Endpoint.IsTls
            ? throw new UsageException(
                $"--plaintext is for servers without TLS, and '{target.Endpoint}' is one with TLS. Leave out "
                + "--plaintext, or write http:// or grpc://.")
            : target;
    }

    /// <summary>Adds what these options and a registered name say to the options of a client.</summary>
    /// <exception cref="UsageException">Options that exclude each other, or are not for the
    /// endpoint.</exception>
    /// <exception cref="RpcException">A secret of the name cannot be read.</exception>
    public RpcClientOptions Apply(
        ParseResult parsed, ToolTarget target, RpcClientOptions options, ToolConsole console)
    {
        bool useTls = parsed.GetValue(_tls) || target.Named is { Tls: true };
        RequireTls(parsed, target.Endpoint, useTls);
        return options with
        {
            Service = options.Service ?? target.Named?.Service,
            InterfaceId = options.InterfaceId ?? target.Named?.InterfaceId,
            Security = SecurityOf(parsed, target, console) with
            {
                ServerUser = parsed.GetValue(_serverUser) ?? target.Named?.ServerUser,
            },
            UseTls = useTls,
            Proxy = ProxyOf(parsed, target.Endpoint),
            Tls = TlsOf(parsed, target.Named),
            Headers = _headers.OfAll(parsed, console),
            Retry = target.Named?.Retry,
            HttpGet = IsGiven(parsed, _get, target.Endpoint, EndpointProtocol.Connect)
                || target.Named is { HttpGet: true },
            GrpcWebText = IsGiven(parsed, _webText, target.Endpoint, EndpointProtocol.GrpcWeb)
                || target.Named is { IsGrpcWebText: true },
        };
    }

    private static bool IsGiven(ParseResult parsed, ToolFlag flag, RpcEndpoint endpoint, string protocol) =>
        parsed.GetValue(flag) && (endpoint.Kind.Protocol == protocol
            ? true
            : throw new UsageException(
                $"{flag.Name} cannot be used with '{endpoint}'. It is for "
                + $"{EndpointKinds.Enumerate([.. SchemesOf(protocol)], "and")} endpoints."));

    private static IEnumerable<string> SchemesOf(string protocol) =>
        EndpointKinds.All.Where(kind => kind.Protocol == protocol).Select(kind => $"{kind.Scheme}://");

    private WebProxy? ProxyOf(ParseResult parsed, RpcEndpoint endpoint)
    {
        string? address = parsed.GetValue(_proxy);
        if (address is null)
        {
            return null;
        }

        if (endpoint.IsNative || !endpoint.Kind.HasPort)
        {
            throw new UsageException(
                $"--proxy cannot be used with '{endpoint}'. It is for HTTP and gRPC endpoints with a host.");
        }

        return address == "none" ? new WebProxy()
            : ProxyAddress.Read(address)
                ?? throw new UsageException(
                    "--proxy must be an address such as http://HOST:PORT, or none.");
    }

    private void RequireTls(ParseResult parsed, RpcEndpoint endpoint, bool useTls)
    {
        if (endpoint.IsTls || (useTls && endpoint.Has(EndpointFeatures.OptionalTls)))
        {
            return;
        }

        (bool IsGiven, string Name)[] given =
        [
            (parsed.GetValue(_authorities) is { Length: > 0 }, "--cacert"),
            (parsed.GetValue(_certificate) is not null, "--cert"),
            (parsed.GetValue(_insecure), "--insecure"),
            (parsed.GetValue(_serverName) is not null && !endpoint.Has(EndpointFeatures.HostNames),
                "--servername"),
            (parsed.GetValue(_tls), "--tls"),
        ];
        foreach ((bool isGiven, string name) in given)
        {
            if (isGiven)
            {
                throw new UsageException(
                    $"{name} cannot be used with '{endpoint}'. It is for endpoints with TLS: https://, "
                    + "grpcs://, and tcp:// with --tls.");
            }
        }
    }

    private RpcClientSecurity SecurityOf(ParseResult parsed, ToolTarget target, ToolConsole console)
    {
        string? user = parsed.GetValue(_user);
        string? bearer = parsed.GetValue(_bearer);
        string? how = parsed.GetValue(_authentication);
        if (user is null && bearer is null && how is null)
        {
            if (parsed.GetValue(_principal) is not null)
            {
                throw new UsageException("--spn is the service for --auth kerberos or negotiate. Give both.");
            }

            return target.SecurityOf(console.Variable);
        }

        if (bearer is not null && (user ?? how) is not null)
        {
            throw new UsageException("Give --bearer alone, or --user and --auth.");
        }

        if (user is not null && how == "self")
        {
            throw new UsageException(
                "--auth self calls as the account of this process. Leave --user out, or give another "
                + "--auth.");
        }

        NetworkCredential? credential = user is not null ? SecretText.ReadUser("--user", user, console)
            : bearer is null && how != "self" ? target.CredentialOf(console.Variable)
            : null;
        return new RpcClientSecurity
        {
            Authentication = bearer is not null ? RpcClientAuthentication.Bearer
                : credential is not null ? RpcClientAuthentication.User
                : RpcClientAuthentication.Self,
            Credential = credential,
            Token = bearer is null ? null : SecretText.Read("--bearer", bearer, console),
            Mechanism = how is null or "self" ? RpcMechanism.Default
                : Enum.Parse<RpcMechanism>(how, ignoreCase: true),
            ProtectionLevel = target.Named?.ProtectionLevel ?? RpcProtectionLevel.Privacy,
            ServicePrincipalName =
                parsed.GetValue(_principal) ?? target.Named?.ServicePrincipalName,
        };
    }

    private RpcTlsOptions TlsOf(ParseResult parsed, RpcNamedEndpoint? named)
    {
        string[] authorities = parsed.GetValue(_authorities) is { Length: > 0 } given
            ? given
            : [.. named?.CACertificate ?? []];
        string? certificate = parsed.GetValue(_certificate) ?? named?.ClientCertificate;
        string? key = parsed.GetValue(_key);
        if (key is not null && parsed.GetValue(_certificate) is null)
        {
            throw new UsageException("--key is the key of --cert. Give both.");
        }

        return new RpcTlsOptions
        {
            CaCertificates = authorities.Length == 0
                ? null
                : CertificateFiles.ReadAuthorities("--cacert", authorities),
            ClientCertificate = certificate is null
                ? null
                : CertificateFiles.ReadWithKey("--cert", certificate, key).Certificate,
            ServerName = parsed.GetValue(_serverName) ?? named?.ServerName,
            SkipCertificateCheck = parsed.GetValue(_insecure),
        };
    }

    // A registered name contains no colon.
    [GeneratedRegex(@"^([\w.-]+|\[[0-9A-Fa-f:.%]+\]):\d{1,5}$")]
    private static partial Regex HostAndPort();
}

/// <summary>The options that say which headers are sent.</summary>
internal sealed partial class HeaderOptions
{
    private readonly ToolOption<string[]> _headers = new(
        "--header", "NAME: VALUE",
        "A header of each call; under a name that ends in -bin, bytes as base64; may be repeated.", "-H");

    private readonly ToolOption<string[]> _ofCalls = new(
        "--rpc-header", "NAME: VALUE",
        "A header that is sent with the call and not with reflection; may be repeated.");

    private readonly ToolOption<string[]> _ofReflection = new(
        "--reflect-header", "NAME: VALUE",
        "A header that is sent with reflection and not with the call; may be repeated.");

    private readonly ToolFlag _expands = new(
        "--expand-headers", "Replaces ${NAME} in headers by the environment variable.");

    /// <param name="command">Gets the options.</param>
    /// <param name="reflects">Whether the command asks servers for their schema.</param>
    public HeaderOptions(Command command, bool reflects)
    {
        command.Add(_headers);
        command.Add(_expands);
        if (reflects)
        {
            command.Add(_ofCalls);
            command.Add(_ofReflection);
        }
    }

    /// <summary>The headers of everything that is sent.</summary>
    /// <exception cref="UsageException">A header has no name, cannot be sent, or names a variable that is not
    /// set.</exception>
    public RpcMetadata OfAll(ParseResult parsed, ToolConsole console) => Read(_headers, parsed, console);

    /// <summary>The headers for only the call.</summary>
    /// <inheritdoc cref="OfAll"/>
    public RpcMetadata OfCall(ParseResult parsed, ToolConsole console) => Read(_ofCalls, parsed, console);

    /// <summary>The headers for only reflection.</summary>
    /// <inheritdoc cref="OfAll"/>
    public RpcMetadata OfReflection(ParseResult parsed, ToolConsole console) =>
        Read(_ofReflection, parsed, console);

    [GeneratedRegex(@"\$\{(?<name>\w+)\}")]
    private static partial Regex Variable();

    private RpcMetadata Read(Option<string[]> option, ParseResult parsed, ToolConsole console)
    {
        RpcMetadata headers = new();
        foreach (string given in parsed.GetValue(option) ?? [])
        {
            string text = parsed.GetValue(_expands) ? Expand(option, given, console) : given;
            int colon = text.IndexOf(':', StringComparison.Ordinal);
            if (colon < 1)
            {
                throw new UsageException($"{option.Name} '{text}' has no name. Write 'NAME: VALUE'.");
            }

            Add(option, headers, text[..colon].Trim(), text[(colon + 1)..].Trim());
        }

        return headers;
    }

    private static string Expand(Option option, string text, ToolConsole console) =>
        Variable().Replace(text, match => console.Variable(match.Groups["name"].Value)
            ?? throw new UsageException(
                $"The environment variable '{match.Groups["name"].Value}' of {option.Name} is not set."));

    private static void Add(Option option, RpcMetadata headers, string name, string value)
    {
        try
        {
            if (!name.EndsWith("-bin", StringComparison.OrdinalIgnoreCase))
            {
                headers.Add(name, value);
            }
            else if (Base64Text.TryDecode(value, out byte[]? bytes))
            {
                headers.Add(name, bytes);
            }
            else
            {
                throw new UsageException(
                    $"The value of {option.Name} '{name}' must be base64, because the name ends in -bin.");
            }
        }
        catch (RpcException e)
        {
            throw new UsageException(e.Message);
        }
    }
}

/// <summary>Reads passwords and tokens of options. Other users of the machine see command lines, so a secret
/// may also be in an environment variable, <c>env:NAME</c>, and a password is asked for.</summary>
internal static class SecretText
{
    /// <summary>The prefix of the name of an environment variable.</summary>
    public const string Variable = "env:";

    private const string Managed = "secret:";

    /// <summary>Whether a text is the name of an environment variable, and no secret.</summary>
    public static bool IsVariable(string text) =>
        text.StartsWith(Variable, StringComparison.OrdinalIgnoreCase);

    /// <summary>The secret itself.</summary>
    /// <exception cref="UsageException">The variable is not set, the secret is empty, or it is in
    /// SecretManagement.</exception>
    public static string Read(string option, string text, ToolConsole console)
    {
        if (text.StartsWith(Managed, StringComparison.OrdinalIgnoreCase))
        {
            throw new UsageException(
                $"{option} cannot read '{Managed}...', a secret of SecretManagement. Put the secret into an "
                + "environment variable, and give env:NAME.");
        }

        string? value = IsVariable(text)
            ? console.Variable(text[Variable.Length..])
            : text;
        return value is { Length: > 0 }
            ? value
            : throw new UsageException(text.Length > Variable.Length
                ? $"The environment variable '{text[Variable.Length..]}' of {option} is not set."
                : $"{option} has no secret. Give it, or env:NAME for an environment variable.");
    }

    /// <summary>A name and its password, which a person is asked for if only the name is given.</summary>
    /// <exception cref="UsageException">There is no password, or no name.</exception>
    /// <exception cref="OperationCanceledException">The person does not want to give it.</exception>
    public static NetworkCredential ReadUser(string option, string text, ToolConsole console)
    {
        int colon = text.IndexOf(':', StringComparison.Ordinal);
        if (colon > 0)
        {
            return new NetworkCredential(text[..colon], Read(option, text[(colon + 1)..], console));
        }

        if (colon < 0 && text.Length > 0 && console.AskSecret is { } ask)
        {
            return ask($"Password of {TerminalText.Neutralize(text)}: ") is { Length: > 0 } password
                ? new NetworkCredential(text, password)
                : throw new UsageException($"{option} '{TerminalText.Neutralize(text)}' has no password.");
        }

        throw new UsageException(
            $"{option} must be NAME:env:VARIABLE to read the password from an environment variable, NAME to "
            + "ask for it at a terminal, or NAME:PASSWORD, which other users of the machine can see.");
    }
}
