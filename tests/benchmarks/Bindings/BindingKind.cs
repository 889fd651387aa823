using ProtoRpc.Benchmarks.Security;
using ProtoRpc.Benchmarks.Transport;

namespace ProtoRpc.Benchmarks.Bindings;

/// <summary>A kind of endpoint with its security, as the comparison of bindings names it.</summary>
/// <param name="Title">As the report names it; processes are told it as well.</param>
/// <param name="Endpoint">What the server listens at; NAME stands for a name of its own.</param>
/// <param name="IsSecure">Whether the caller is proved, or the bytes are encrypted.</param>
internal sealed record BindingKind(string Title, string Endpoint, bool IsSecure)
{
    /// <summary>As whom is called, of the kinds of <see cref="CallSecurity"/>.</summary>
    public string Security { get; init; } = "";

    /// <summary>TLS on a native endpoint, which does not say so by its scheme.</summary>
    public bool UseTls { get; init; }

    /// <summary>Whether the server needs a certificate.</summary>
    public bool HasTls => UseTls || Endpoint.StartsWith("https:", StringComparison.Ordinal)
        || Endpoint.StartsWith("grpcs:", StringComparison.Ordinal);

    /// <summary>The format of HTTP calls.</summary>
    public MessageFormat Format { get; init; } = MessageFormats.Binary;

    /// <summary>Whether client and server share a process.</summary>
    public bool IsInProcess => Endpoint.StartsWith("inproc", StringComparison.Ordinal);

    public static IReadOnlyList<BindingKind> All { get; } =
    [
        new("inproc", WorkerRole.InProcess, false),
        new("local", "ncalrpc:[NAME]", false),
        new("local, own account", "ncalrpc:[NAME]", true) { Security = CallSecurity.Self },
        new("named pipe", @"ncacn_np:[\pipe\NAME]", false),
        new("named pipe, own account", @"ncacn_np:[\pipe\NAME]", true) { Security = CallSecurity.Self },
        new("TCP", "ncacn_ip_tcp:127.0.0.1[0]", false),
        new("TCP, NTLM, signed", "ncacn_ip_tcp:127.0.0.1[0]", true) { Security = CallSecurity.Integrity },
        new("TCP, NTLM, encrypted", "ncacn_ip_tcp:127.0.0.1[0]", true) { Security = CallSecurity.Privacy },
        new("TCP, TLS", "tcp://127.0.0.1:0", true) { UseTls = true },
        new("HTTP, protobuf", "http://127.0.0.1:0/", false),
        new("HTTP, JSON", "http://127.0.0.1:0/", false) { Format = MessageFormats.Json },
        new("HTTP, XML", "http://127.0.0.1:0/", false) { Format = MessageFormats.Xml },
        new("HTTPS, protobuf", "https://127.0.0.1:0/", true),
        new("HTTPS, JSON", "https://127.0.0.1:0/", true) { Format = MessageFormats.Json },
        new("gRPC", "grpc://127.0.0.1:0", false),
        new("gRPC over TLS", "grpcs://127.0.0.1:0", true),
        new("gRPC over a Unix socket", "grpc+unix:///FOLDER/NAME.sock", false),
    ];

    public static BindingKind Of(string title) => All.First(kind => kind.Title == title);
}
