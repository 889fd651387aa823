using System.Net;
using Microsoft.Extensions.Logging;

namespace ProtoRpc;

/// <summary>How a client behaves. Clients keep a copy: what is changed later holds for later
/// clients.</summary>
public sealed record RpcClientOptions
{
    /// <summary>The bounds; its CallTimeout is the default deadline.</summary>
    public RpcLimits Limits { get; set; } = RpcLimits.Default;

    /// <summary>As whom endpoints are called.</summary>
    public RpcClientSecurity Security { get; set; } = RpcClientSecurity.Anonymous;

    /// <summary>Certificates and names of endpoints on TLS.</summary>
    public RpcTlsOptions Tls { get; set; } = new();

    /// <summary>Whether TLS is spoken to a native endpoint on TCP;
    /// other endpoints say so by themselves.</summary>
    public bool UseTls { get; set; }

    /// <summary>Makes what sends the requests of <c>http://</c>, <c>https://</c>, <c>grpc://</c> and
    /// <c>grpcs://</c> endpoints instead of sockets: the handler of a test server, or one with connections of
    /// its own, for which <see cref="Tls"/>, <see cref="Security"/> and <see cref="KeepAlive"/> then have no
    /// effect. Called for each client and for each schema that is fetched over HTTP; the handler is
    /// disposed with them. Null for sockets.</summary>
    public Func<HttpMessageHandler>? HttpHandler { get; set; }

    /// <summary>The proxy of HTTP and gRPC endpoints, to which gRPC makes tunnels with CONNECT; null for that
    /// of the environment, which does not apply to loopback. <c>new WebProxy()</c> is none.</summary>
    public IWebProxy? Proxy { get; set; }

    /// <summary>Headers that go with every call.</summary>
    public RpcMetadata Headers { get; set; } = new();

    /// <summary>How requests are compressed, where the transport compresses.</summary>
    public RpcCompression Compression { get; set; }

    /// <summary>When HTTP endpoints are asked for compressed replies. A reply that comes compressed is always
    /// understood. <see cref="RpcReplyCompression.Automatic"/> asks endpoints off loopback, and those that
    /// get compressed requests.</summary>
    public RpcReplyCompression ReplyCompression { get; set; }

    /// <summary>How often a gRPC connection with calls on it asks whether the server is still there;
    /// null for never. Many servers close connections that ask more often than every five minutes.</summary>
    public TimeSpan? KeepAlive { get; set; }

    /// <summary>Whether the client connects with its first call. Otherwise an unreachable server is an
    /// error of connecting.</summary>
    public bool Lazy { get; set; }

    /// <summary>How often a call is made again when the server surely did not take it: it was not there, or
    /// refused the call before it ran. Connecting is tried again as often. The pauses grow, and the deadline
    /// is one for all. Calls with a stream of requests are not made again, for what was sent of it is gone. 0
    /// is never.</summary>
    public int RetryCount { get; set; }

    /// <summary>What stands around every call, the first one outermost.</summary>
    public IReadOnlyList<IRpcClientInterceptor> Interceptors { get; set; } = [];

    /// <summary>Makes the logger of the client, in the category <c>ProtoRpc.RpcClient</c> or
    /// <c>ProtoRpc.RpcRawClient</c>. It logs as a warning what a server does against its protocol and the
    /// client tolerates, and each attempt that is made again, with its number, status and the pause; as
    /// information calls and connections that failed, and for debugging every call with
    /// its time and its sizes. Null for no log.</summary>
    public ILoggerFactory? LoggerFactory { get; set; }

    /// <summary>Receives what is sent and received, for debugging; null for none.</summary>
    public RpcTrace? Trace { get; set; }

    /// <summary>The format of requests to HTTP endpoints, and of the replies that are asked for.</summary>
    public MessageFormat Format { get; set; } = MessageFormats.Binary;

    /// <summary>The service for bare method names and for the connection's first binding;
    /// null for the schema's only one.</summary>
    public string? Service { get; set; }

    /// <summary>The interface id of that service; null for the service's own.</summary>
    public Guid? InterfaceId { get; set; }

    /// <summary>Which exception types of the server are made anew.</summary>
    public RpcExceptionTypes ExceptionTypes { get; set; } = RpcExceptionTypes.CoreLibrary;

    /// <summary>Requests of this many bytes and more go in parts, each with its headers no larger
    /// than this, at least 2,048; null for never. The server must take parts, as ours do;
    /// the original's do when it was enabled.</summary>
    public int? MultiPartThreshold { get; set; } = RpcLimits.Default.MaxMessageBytes;

    internal RpcClientOptions Copy() => this with
    {
        Limits = Limits with { },
        Security = Security with { },
        Tls = Tls with { },
        Headers = Headers.Copy(),
        Interceptors = [.. Interceptors],
    };
}
