using System.Globalization;
using System.Reflection;
using static ProtoRpc.AddressForm;
using static ProtoRpc.EndpointFeatures;
using static ProtoRpc.EndpointProtocol;

namespace ProtoRpc;

/// <summary>The transport of an endpoint.</summary>
public enum RpcTransport
{
    // EndpointKinds reads the kinds of endpoints from these attributes. To add a kind, add a member.

    /// <summary>DCE/RPC over TCP (<c>ncacn_ip_tcp</c>, <c>tcp://</c>).</summary>
    [EndpointKind(
        "tcp", Native, HostAndPort, OfNative | OptionalTls, sequence: "ncacn_ip_tcp", examplePort: 8080,
        hint: "TCP: host and port (0: the system picks one)")]
    Tcp,

    /// <summary>DCE/RPC over a named pipe (<c>ncacn_np</c>, <c>pipe://</c>).</summary>
    [EndpointKind(
        "pipe", Native, HostAndName, OfNative | KnowsCaller | KnowsServer | OtherAccounts,
        sequence: "ncacn_np", hint: "Named pipe")]
    NamedPipe,

    /// <summary>DCE/RPC on this machine only (<c>ncalrpc</c>, <c>local://</c>).</summary>
    [EndpointKind(
        "local", Native, NameAlone, OfNative | KnowsCaller | KnowsServer | OtherAccounts | LocalOnly,
        sequence: "ncalrpc", hint: "Local: a Unix socket, or a local pipe on Windows")]
    Local,

    /// <summary>HTTP (<c>http://</c>).</summary>
    [EndpointKind(
        "http", EndpointProtocol.Http, HostPortAndPath, OfHttp, defaultPort: 80, examplePort: 8081,
        hint: "HTTP without TLS: protobuf, JSON, XML, form")]
    Http,

    /// <summary>HTTP over TLS (<c>https://</c>).</summary>
    [EndpointKind(
        "https", EndpointProtocol.Http, HostPortAndPath, OfHttp | Tls, defaultPort: 443,
        hint: "HTTP over TLS")]
    Https,

    /// <summary>gRPC without TLS (<c>grpc://</c>).</summary>
    [EndpointKind(
        "grpc", EndpointProtocol.Grpc, HostsAndPrefix, OfGrpc, examplePort: 50051,
        hint: "gRPC without TLS")]
    Grpc,

    /// <summary>gRPC over TLS (<c>grpcs://</c>).</summary>
    [EndpointKind(
        "grpcs", EndpointProtocol.Grpc, HostsAndPrefix, OfGrpc | Tls, defaultPort: 443,
        hint: "gRPC over TLS")]
    Grpcs,

    /// <summary>gRPC over a Unix domain socket (<c>grpc+unix://</c>).</summary>
    [EndpointKind(
        "grpc+unix", EndpointProtocol.Grpc, SocketPath,
        OfGrpc | KnowsCaller | KnowsServer | OtherAccounts | LocalOnly,
        hint: "gRPC over a Unix socket")]
    GrpcUnix,

    /// <summary>The current process (<c>inproc://</c>).</summary>
    [EndpointKind(
        "inproc", "in-process", NameAlone,
        LocalOnly | KnowsCaller | ReplyStreams | RequestStreams | OwnAccount | ExceptionTypes | Parts
        | Reflection | HeaderExtensions,
        hint: "In this process, without a socket")]
    InProcess,

    /// <summary>LRPC, the local RPC of Windows
    /// (<c>ncalrpc:[NAME,transport=lrpc]</c>, <c>lrpc://</c>).</summary>
    [EndpointKind(
        "lrpc", Native, NameAlone,
        LocalOnly | KnowsCaller | OwnAccount | Interfaces | ExceptionTypes | Parts | HeaderExtensions
        | WholeMessages,
        sequence: "ncalrpc", option: "transport=lrpc",
        hint: "LRPC: the local RPC of Windows, for programs that use rpcrt4")]
    Lrpc,

    /// <summary>REST by the rules of <c>google.api.http</c>, without TLS (<c>rest://</c>); for clients.
    /// Listeners serve such calls on HTTP endpoints.</summary>
    [EndpointKind(
        "rest", EndpointProtocol.Rest, HostPortAndPath, OfRest, defaultPort: 80, examplePort: 8081,
        hint: "REST by google.api.http rules, without TLS")]
    Rest,

    /// <summary>REST by the rules of <c>google.api.http</c>, over TLS (<c>rests://</c>); for clients.
    /// Listeners serve such calls on HTTP endpoints.</summary>
    [EndpointKind(
        "rests", EndpointProtocol.Rest, HostPortAndPath, OfRest | Tls, defaultPort: 443,
        hint: "REST by google.api.http rules, over TLS")]
    Rests,

    /// <summary>The Connect protocol without TLS (<c>connect://</c>); for clients. Listeners serve such calls
    /// on HTTP endpoints.</summary>
    [EndpointKind(
        "connect", EndpointProtocol.Connect, HostPortAndPath, OfConnect, defaultPort: 80, examplePort: 8081,
        hint: "Connect protocol without TLS")]
    Connect,

    /// <summary>The Connect protocol over TLS (<c>connects://</c>); for clients. Listeners serve such calls
    /// on HTTP endpoints.</summary>
    [EndpointKind(
        "connects", EndpointProtocol.Connect, HostPortAndPath, OfConnect | Tls, defaultPort: 443,
        hint: "Connect protocol over TLS")]
    Connects,

    /// <summary>gRPC-Web without TLS (<c>grpcweb://</c>); for clients. Listeners serve such calls on HTTP
    /// endpoints.</summary>
    [EndpointKind(
        "grpcweb", EndpointProtocol.GrpcWeb, HostPortAndPath, OfGrpcWeb, defaultPort: 80, examplePort: 8081,
        hint: "gRPC-Web without TLS")]
    GrpcWeb,

    /// <summary>gRPC-Web over TLS (<c>grpcwebs://</c>); for clients. Listeners serve such calls on HTTP
    /// endpoints.</summary>
    [EndpointKind(
        "grpcwebs", EndpointProtocol.GrpcWeb, HostPortAndPath, OfGrpcWeb | Tls, defaultPort: 443,
        hint: "gRPC-Web over TLS")]
    GrpcWebs,
}

/// <summary>The features of a kind of endpoint.</summary>
[Flags]
internal enum EndpointFeatures
{
    None = 0,

    /// <summary>Only this machine reaches them.</summary>
    LocalOnly = 1 << 0,

    /// <summary>The transport identifies callers, so they need no credentials.</summary>
    KnowsCaller = 1 << 1,

    /// <summary>Always with TLS.</summary>
    Tls = 1 << 2,

    /// <summary>With TLS where both sides ask for it.</summary>
    OptionalTls = 1 << 3,

    /// <summary>Replies that stream.</summary>
    ReplyStreams = 1 << 4,

    /// <summary>Requests that stream, while replies do.</summary>
    RequestStreams = 1 << 5,

    /// <summary>Compressed messages.</summary>
    Compression = 1 << 6,

    /// <summary>Replies that servers compress if the client asks for it.</summary>
    CompressedReplies = 1 << 7,

    /// <summary>Callers as the account that their process runs as.</summary>
    OwnAccount = 1 << 8,

    /// <summary>Callers with a user name and a password.</summary>
    Passwords = 1 << 9,

    /// <summary>Callers with a bearer token.</summary>
    Tokens = 1 << 10,

    /// <summary>NTLM, Kerberos and Negotiate.</summary>
    Mechanisms = 1 << 11,

    /// <summary>Interface ids, also for bytes without a schema, and signed or encrypted calls.</summary>
    Interfaces = 1 << 12,

    /// <summary>The types of exceptions.</summary>
    ExceptionTypes = 1 << 13,

    /// <summary>Messages in parts.</summary>
    Parts = 1 << 14,

    /// <summary>Messages in other formats than protobuf's own.</summary>
    Formats = 1 << 15,

    /// <summary>Browsers call them.</summary>
    Browsers = 1 << 16,

    /// <summary>Pings that keep a silent connection open.</summary>
    KeepAlive = 1 << 17,

    /// <summary>Servers can have reflection.</summary>
    Reflection = 1 << 18,

    /// <summary>Servers need ASP.NET Core.</summary>
    AspNetCore = 1 << 19,

    /// <summary>Servers with a host name, which may differ from the address that the client connects
    /// to.</summary>
    HostNames = 1 << 20,

    /// <summary>Extensions of the headers of <c>rpc_messages.proto</c>.</summary>
    HeaderExtensions = 1 << 21,

    /// <summary>The operating system carries whole requests and replies, without a byte stream.</summary>
    WholeMessages = 1 << 22,

    /// <summary>The operating system reports to clients which account runs the server.</summary>
    KnowsServer = 1 << 23,

    /// <summary>Can be opened to other accounts of the machine.</summary>
    OtherAccounts = 1 << 24,

    /// <summary>Only for clients: servers serve these calls on endpoints of another kind.</summary>
    ClientOnly = 1 << 25,

    /// <summary>The features of the native protocol.</summary>
    OfNative = OwnAccount | Passwords | Mechanisms | Interfaces | ExceptionTypes | Parts | HeaderExtensions,

    /// <summary>The features of HTTP.</summary>
    OfHttp = ReplyStreams | Compression | CompressedReplies | OwnAccount | Passwords | Tokens | Mechanisms
        | Formats | Browsers | AspNetCore,

    /// <summary>The features of REST. Bodies are JSON.</summary>
    OfRest = ReplyStreams | Compression | CompressedReplies | OwnAccount | Passwords | Tokens | Mechanisms
        | ClientOnly,

    /// <summary>The features of Connect.</summary>
    OfConnect = RequestStreams | ReplyStreams | Compression | CompressedReplies | OwnAccount | Passwords
        | Tokens | Mechanisms | Formats | ClientOnly,

    /// <summary>The features of gRPC-Web.</summary>
    OfGrpcWeb = ReplyStreams | Compression | OwnAccount | Passwords | Tokens | Mechanisms | ClientOnly,

    /// <summary>The features of gRPC.</summary>
    OfGrpc = RequestStreams | ReplyStreams | Compression | Passwords | Tokens | KeepAlive | Reflection
        | AspNetCore | HostNames,
}

/// <summary>A row of the table of endpoint kinds, which is <see cref="RpcTransport"/>.</summary>
/// <param name="scheme">The scheme of its URIs.</param>
/// <param name="protocol">The name of the protocol in texts.</param>
/// <param name="form">The form of addresses.</param>
/// <param name="features">The features of the endpoints.</param>
/// <param name="hint">A short description.</param>
/// <param name="sequence">The protocol sequence of its string bindings; empty for a kind that has only
/// URIs.</param>
/// <param name="option">The option after the endpoint in a string binding, if several kinds have the same
/// protocol sequence; otherwise empty.</param>
/// <param name="defaultPort">The port of an address without one; -1 if an address must have a port.</param>
/// <param name="examplePort">The port of examples; -1 for the default port.</param>
[AttributeUsage(AttributeTargets.Field)]
internal sealed class EndpointKindAttribute(
    string scheme, string protocol, AddressForm form, EndpointFeatures features, string hint,
    string sequence = "", string option = "", int defaultPort = EndpointKindAttribute.NoPort,
    int examplePort = EndpointKindAttribute.NoPort) : Attribute
{
    // All values are constructor parameters, because the runtime compiles code for each property that an
    // attribute sets.
    private const int NoPort = -1;

    public string Scheme => scheme;

    public string Protocol => protocol;

    public AddressForm Form => form;

    public EndpointFeatures Features => features;

    public string Hint => hint;

    public string Sequence => sequence;

    public string Option => option;

    public int DefaultPort => defaultPort;

    public int ExamplePort => examplePort;

    /// <summary>The member of the enumeration with this attribute.</summary>
    public RpcTransport Transport { get; set; }

    public bool HasDefaultPort => DefaultPort != NoPort;

    /// <summary>Whether an address has a host and port, where a server of another user may listen.</summary>
    public bool HasPort =>
        form is AddressForm.HostAndPort or AddressForm.HostPortAndPath or AddressForm.HostsAndPrefix;

    /// <summary>Whether an address may be without a host, because it can mean this machine.</summary>
    public bool MayLackHost => !HasPort;

    /// <summary>Whether an address has a name and no path.</summary>
    public bool HasName => form is AddressForm.HostAndName or AddressForm.NameAlone;

    /// <summary>The same protocol with TLS, or without where this one has it; null for none.</summary>
    public EndpointKindAttribute? Twin => EndpointKinds.All.FirstOrDefault(
        other => other.Protocol == protocol && other.Form == form
            && other.Features == (features ^ EndpointFeatures.Tls));

    /// <summary>The scheme of the same protocol with TLS, or without.</summary>
    public string SchemeWith(bool tls) =>
        Has(EndpointFeatures.Tls) == tls ? scheme : Twin?.Scheme ?? (tls ? "https" : "http");

    /// <summary>Whether endpoints of this kind have any of some features.</summary>
    public bool Has(EndpointFeatures any) => (features & any) != 0;

    /// <summary>An address with a scheme.</summary>
    public string ToUri(string host, int port, string name) => form switch
    {
        AddressForm.HostAndName => $"{scheme}://{(host.Length == 0 ? "." : host)}/{name}",
        _ when HasPort => ToUri([(host, port)], name),
        _ => $"{scheme}://{name}",
    };

    /// <summary>An address with several hosts.</summary>
    public string ToUri(IReadOnlyList<(string Host, int Port)> servers, string name) =>
        $"{scheme}://{string.Join(',', servers.Select(server => Authority(server.Host, server.Port)))}{name}";

    /// <summary>An address as a string binding, or with its scheme if it has no such form.</summary>
    public string ToBinding(string host, int port, string name) => Sequence.Length == 0
        ? ToUri(host, port, name)
        : form switch
        {
            AddressForm.HostAndPort => $"{Sequence}:{host}[{Text(port)}]",
            AddressForm.HostAndName => $@"{Sequence}:{host}[\pipe\{name}]",
            _ => $"{Sequence}:[{name}{(Option.Length == 0 ? "" : $",{Option}")}]",
        };

    /// <summary>An example of an address, as a string binding if the kind has one.</summary>
    public string ExampleBinding(string host) =>
        ToBinding(HasPort ? host : "", ExamplePortOrDefault, ExampleName);

    /// <summary>An example of an address with its scheme.</summary>
    public string ExampleUri(string host) => ToUri(HasPort ? host : "", ExamplePortOrDefault, ExampleName);

    private int ExamplePortOrDefault => ExamplePort == NoPort ? DefaultPort : ExamplePort;

    private string ExampleName => form switch
    {
        AddressForm.HostPortAndPath => "/",
        AddressForm.HostAndPort or AddressForm.HostsAndPrefix => "",
        AddressForm.SocketPath => "/PATH",
        _ => "NAME",
    };

    private static string Authority(string host, int port) =>
        $"{(host.Contains(':') ? $"[{host}]" : host)}:{Text(port)}";

    private static string Text(int port) => port.ToString(CultureInfo.InvariantCulture);
}

/// <summary>The parts of an endpoint's address, and how they are written.</summary>
internal enum AddressForm
{
    /// <summary><c>scheme://host:port</c>, <c>sequence:host[port]</c>.</summary>
    HostAndPort,

    /// <summary><c>scheme://host:port/path</c>.</summary>
    HostPortAndPath,

    /// <summary><c>scheme://host:port</c>, also with several hosts, <c>scheme://a:1,b:2</c>, and with a path
    /// before the methods, <c>scheme://host:port/prefix</c>.</summary>
    HostsAndPrefix,

    /// <summary><c>scheme://host/name</c>, <c>sequence:host[\pipe\name]</c>; the host <c>.</c>, or none, is
    /// this machine.</summary>
    HostAndName,

    /// <summary><c>scheme://name</c>, <c>sequence:[name]</c>.</summary>
    NameAlone,

    /// <summary><c>scheme:///path</c> of a socket, or <c>scheme://@name</c> of an abstract one.</summary>
    SocketPath,
}

/// <summary>Looks kinds of endpoints up in their table, <see cref="RpcTransport"/>.</summary>
internal static class EndpointKinds
{
    /// <summary>Every kind, in the order of the table.</summary>
    public static IReadOnlyList<EndpointKindAttribute> All { get; } = Read();

    /// <summary>The kinds that servers can have.</summary>
    public static IEnumerable<EndpointKindAttribute> Served =>
        All.Where(kind => !kind.Has(EndpointFeatures.ClientOnly));

    public static EndpointKindAttribute Get(RpcTransport transport) => All[(int)transport];

    /// <summary>The kind whose URIs have a scheme; null for an unknown one.</summary>
    public static EndpointKindAttribute? OfScheme(string scheme) =>
        All.FirstOrDefault(kind => kind.Scheme.Equals(scheme, StringComparison.OrdinalIgnoreCase));

    /// <summary>The kind whose string bindings have a protocol sequence, and an option if one is given; null
    /// for an unknown one.</summary>
    public static EndpointKindAttribute? OfSequence(string sequence, string option = "") =>
        sequence.Length == 0
            ? null
            : All.FirstOrDefault(kind =>
                kind.Sequence.Equals(sequence, StringComparison.OrdinalIgnoreCase)
                && kind.Option.Equals(option, StringComparison.OrdinalIgnoreCase));

    /// <summary>The schemes of the kinds that have any of some features, as texts name them.</summary>
    /// <param name="any">The features.</param>
    /// <param name="last">The word before the last one.</param>
    public static string SchemesWith(EndpointFeatures any, string last = "or") =>
        Enumerate([.. All.Where(kind => kind.Has(any)).Select(kind => $"{kind.Scheme}://")], last);

    /// <summary>Names in one phrase.</summary>
    public static string Enumerate(IReadOnlyList<string> names, string last) => names.Count == 1
        ? names[0]
        : $"{string.Join(", ", names.SkipLast(1))} {last} {names[^1]}";

    private static EndpointKindAttribute[] Read()
    {
        RpcTransport[] transports = Enum.GetValues<RpcTransport>();
        EndpointKindAttribute[] kinds = new EndpointKindAttribute[transports.Length];
        foreach (RpcTransport transport in transports)
        {
            FieldInfo member = typeof(RpcTransport).GetField(transport.ToString())!;
            kinds[(int)transport] = member.GetCustomAttribute<EndpointKindAttribute>()!;
            kinds[(int)transport].Transport = transport;
        }

        return kinds;
    }
}

/// <summary>The protocols that several kinds of endpoints speak, by the names that texts call them.</summary>
internal static class EndpointProtocol
{
    /// <summary>Connection-oriented DCE/RPC.</summary>
    public const string Native = "native";

    /// <summary>A request and a reply of HTTP, in the format that both sides agree on.</summary>
    public const string Http = "HTTP";

    /// <summary>gRPC on HTTP/2.</summary>
    public const string Grpc = "gRPC";

    /// <summary>HTTP by the rules of google.api.http: a method of HTTP, a path, a query and JSON.</summary>
    public const string Rest = "REST";

    /// <summary>The Connect protocol: messages of HTTP, and streams of frames.</summary>
    public const string Connect = "Connect";

    /// <summary>gRPC in the bodies of HTTP messages, with the trailers in the body.</summary>
    public const string GrpcWeb = "gRPC-Web";
}
