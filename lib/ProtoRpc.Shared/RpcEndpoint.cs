using System.Globalization;

namespace ProtoRpc;

/// <summary>Where a service is: a transport with a host and port, a pipe, a local name or a path.</summary>
/// <remarks>
/// Read from a DCE string binding (<c>ncacn_ip_tcp:host[8080]</c>, C706 section 3.1) or from a URI
/// (<c>tcp://host:8080</c>). Two endpoints are equal when they reach the same place.
/// </remarks>
public sealed class RpcEndpoint : IEquatable<RpcEndpoint>
{
    /// <summary>The longest pipe or local name, so that the socket path of every platform holds it.</summary>
    public const int MaxNameLength = 64;

    private RpcEndpoint(RpcTransport transport, string host, int port, string name)
    {
        Transport = transport;
        Host = host;
        Port = port;
        Name = name;
    }

    /// <summary>The transport.</summary>
    public RpcTransport Transport { get; }

    /// <summary>Host name or address; empty for this machine on pipes and local endpoints.</summary>
    public string Host { get; }

    /// <summary>The port, 0 for one that the system picks, and 0 where the transport has none.</summary>
    public int Port { get; }

    /// <summary>The pipe's or local name without prefix, a socket's path,
    /// or the path of an HTTP address.</summary>
    public string Name { get; }

    /// <summary>Whether the endpoint can only be reached from this machine by its nature.</summary>
    public bool IsLocalOnly => Transport is RpcTransport.Local or RpcTransport.GrpcUnix
        || (Transport == RpcTransport.NamedPipe && Host.Length == 0);

    /// <summary>Whether the native DCE/RPC protocol is spoken there.</summary>
    public bool IsNative => Transport is RpcTransport.Tcp or RpcTransport.NamedPipe or RpcTransport.Local;

    /// <summary>Whether gRPC is spoken there.</summary>
    public bool IsGrpc => Transport is RpcTransport.Grpc or RpcTransport.Grpcs or RpcTransport.GrpcUnix;

    /// <summary>Whether the connection is secured with TLS.</summary>
    public bool IsTls => Transport is RpcTransport.Https or RpcTransport.Grpcs;

    /// <summary>The endpoint as a URI.</summary>
    public string Uri => Transport switch
    {
        RpcTransport.Tcp => $"tcp://{UriHost}:{Port}",
        RpcTransport.NamedPipe => $"pipe://{(Host.Length == 0 ? "." : Host)}/{Name}",
        RpcTransport.Local => $"local://{Name}",
        RpcTransport.Http => $"http://{UriHost}:{Port}{Name}",
        RpcTransport.Https => $"https://{UriHost}:{Port}{Name}",
        RpcTransport.Grpc => $"grpc://{UriHost}:{Port}",
        RpcTransport.Grpcs => $"grpcs://{UriHost}:{Port}",
        RpcTransport.GrpcUnix => $"grpc+unix://{Name}",
        _ => throw new InvalidOperationException($"No URI form for {Transport}."),
    };

    private string UriHost => Host.Contains(':') ? $"[{Host}]" : Host;

    /// <summary>An endpoint on TCP.</summary>
    /// <param name="host">Host name or address.</param>
    /// <param name="port">0 to 65535; 0 lets a listener pick a free one.</param>
    public static RpcEndpoint Tcp(string host, int port) => Create(RpcTransport.Tcp, host, port, "");

    /// <summary>A named pipe on this machine.</summary>
    public static RpcEndpoint NamedPipe(string name) => Create(RpcTransport.NamedPipe, "", 0, name);

    /// <summary>A local endpoint.</summary>
    public static RpcEndpoint Local(string name) => Create(RpcTransport.Local, "", 0, name);

    /// <summary>The same endpoint with another port, as a listener has it once it is bound.</summary>
    public RpcEndpoint WithPort(int port) => Create(Transport, Host, port, Name);

    /// <summary>The same endpoint on another host.</summary>
    public RpcEndpoint WithHost(string host) => Create(Transport, host, Port, Name);

    /// <summary>Reads a string binding or URI.</summary>
    /// <exception cref="RpcException">InvalidArgument, with what is wrong
    /// and the forms that are understood.</exception>
    public static RpcEndpoint Parse(string text)
    {
        ArgumentNullException.ThrowIfNull(text);
        string trimmed = text.Trim();
        int scheme = trimmed.IndexOf("://", StringComparison.Ordinal);
        return scheme > 0
            ? UriEndpointSyntax.Parse(trimmed, trimmed[..scheme].ToLowerInvariant(), trimmed[(scheme + 3)..])
            : StringBindingSyntax.Parse(trimmed);
    }

    /// <summary>Reads a string binding or URI; so scripts can write a text
    /// where an endpoint is wanted.</summary>
    public static explicit operator RpcEndpoint(string text) => Parse(text);

    /// <inheritdoc/>
    public bool Equals(RpcEndpoint? other) => other is not null
        && Transport == other.Transport
        && Port == other.Port
        && string.Equals(Host, other.Host, StringComparison.OrdinalIgnoreCase)
        && string.Equals(Name, other.Name, Transport == RpcTransport.GrpcUnix
            ? StringComparison.Ordinal : StringComparison.OrdinalIgnoreCase);

    /// <inheritdoc/>
    public override bool Equals(object? obj) => Equals(obj as RpcEndpoint);

    /// <inheritdoc/>
    public override int GetHashCode() => HashCode.Combine(
        Transport, Port, Host.ToUpperInvariant().GetHashCode(StringComparison.Ordinal),
        Name.ToUpperInvariant().GetHashCode(StringComparison.Ordinal));

    /// <summary>The string binding of native endpoints, the URI of the others.</summary>
    public override string ToString() => Transport switch
    {
        RpcTransport.Tcp => $"ncacn_ip_tcp:{Host}[{Port.ToString(CultureInfo.InvariantCulture)}]",
        RpcTransport.NamedPipe => $@"ncacn_np:{Host}[\pipe\{Name}]",
        RpcTransport.Local => $"ncalrpc:[{Name}]",
        _ => Uri,
    };

    /// <summary>Makes one of its parts.</summary>
    /// <param name="transport">The transport.</param>
    /// <param name="host">The host.</param>
    /// <param name="port">The port.</param>
    /// <param name="name">The name.</param>
    /// <param name="text">What it was read from, which errors name; null when it was not read.</param>
    internal static RpcEndpoint Create(
        RpcTransport transport, string host, int port, string name, string? text = null)
    {
        text ??= $"{transport} {host}:{port} {name}".TrimEnd();
        if (port is < 0 or > 65535)
        {
            throw Invalid(text, $"port {port} is not in 0..65535");
        }

        if (transport is RpcTransport.NamedPipe or RpcTransport.Local)
        {
            CheckName(text, name);
        }
        else if (name.Any(IsInvisible))
        {
            throw Invalid(text, "the path has a control character");
        }

        if (!HostNames.MayLack(transport) || host.Length > 0)
        {
            HostNames.Check(text, host);
        }

        return new RpcEndpoint(transport, host, port, name);
    }

    internal static RpcException Invalid(string text, string what) => new(
        RpcStatusCode.InvalidArgument,
        $"'{text}' is not an endpoint: {what}. Write a string binding such as 'ncacn_ip_tcp:host[8080]', "
        + @"'ncacn_np:[\pipe\NAME]', 'ncalrpc:[NAME]', or a URI such as 'tcp://host:8080', 'pipe://./NAME', "
        + "'local://NAME', 'http://host:8081/', 'grpc://host:50051'.")
    {
        ErrorId = RpcErrorIds.InvalidEndpoint,
    };

    // Such characters have no place in an address, and one that is shown must be what it looks like.
    internal static bool IsInvisible(char c) => char.GetUnicodeCategory(c) is UnicodeCategory.Control
        or UnicodeCategory.Format or UnicodeCategory.LineSeparator or UnicodeCategory.ParagraphSeparator;

    // A name becomes a file name on Unix and a pipe name on Windows, so nothing in it may lead elsewhere.
    private static void CheckName(string text, string name)
    {
        if (name.Length == 0)
        {
            throw Invalid(text, "the name is missing");
        }

        if (name.Length > MaxNameLength)
        {
            throw Invalid(text, $"the name is longer than {MaxNameLength} characters");
        }

        if (name.StartsWith('.')
            || name.Any(c => !(char.IsAsciiLetterOrDigit(c) || c is '.' or '-' or '_' or '{' or '}' or '$')))
        {
            throw Invalid(
                text, "a name has ASCII letters, digits and . - _ { } $ and does not start with a dot");
        }
    }
}
