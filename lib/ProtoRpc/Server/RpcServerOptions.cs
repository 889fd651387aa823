using System.Security.Cryptography.X509Certificates;
using Microsoft.Extensions.Logging;
using ProtoRpc.Server;

namespace ProtoRpc;

/// <summary>How a server behaves. Servers keep a copy: what is changed later holds for later
/// servers.</summary>
public sealed record RpcServerOptions
{
    /// <summary>The bounds.</summary>
    public RpcLimits Limits { get; set; } = RpcLimits.Default;

    /// <summary>Whether handlers may keep state for callers between calls.</summary>
    public bool EnableSessions { get; set; } = true;

    /// <summary>Whether messages are taken in parts,
    /// so that they may be larger than the limit of one call.</summary>
    public bool EnableMultiPart { get; set; } = true;

    /// <summary>Answer pings, on every endpoint: each is called with the RpcPingRequest that came, and what
    /// they return, messages of the type RpcPingResponse or null, is merged in their order and sent with what
    /// the server says of itself. Both messages are of <c>google.protobuf.rpc_messages</c>; their fields are
    /// the extensions that the service's schema declares. A handler that throws fails the ping.</summary>
    public IReadOnlyList<RpcHandler> PingHandlers { get; set; } = [];

    /// <summary>What stands around every call, the first one outermost.</summary>
    public IReadOnlyList<IRpcInterceptor> Interceptors { get; set; } = [];

    /// <summary>The certificate, with its private key, of all endpoints with TLS: <c>https://</c>,
    /// <c>grpcs://</c>, and <c>tcp://</c> with <see cref="UseTls"/>. Null for none.</summary>
    public X509Certificate2? Certificate { get; set; }

    /// <summary>The authorities between the certificate and its root, which are shown with it;
    /// null for those that the machine knows.</summary>
    public X509Certificate2Collection? CertificateChain { get; set; }

    /// <summary>Whether native endpoints on TCP use TLS. Other endpoints say by their scheme whether they
    /// do.</summary>
    public bool UseTls { get; set; }

    /// <summary>Whom native endpoints let in.</summary>
    public RpcServerSecurity Security { get; set; } = RpcServerSecurity.Anonymous;

    // The ways to serve: those of this assembly, and what a host brings beside them.
    internal IReadOnlyList<IServerFace> Faces { get; init; } = ServerFaceAttribute.All;

    /// <summary>How much of an unexpected exception is sent to callers. Null for everything if the kernel
    /// guarantees that the caller is on this machine,
    /// and <see cref="RpcErrorDetail.None"/> otherwise.
    /// The text of an <see cref="RpcException"/> that a handler throws is sent at every level.</summary>
    public RpcErrorDetail? ErrorDetail { get; set; }

    /// <summary>Records a call that failed in a handler or an interceptor, or by an exception that is not
    /// sent to its caller. Called once for each failed call, on its thread; exceptions are ignored. Null
    /// for no record.</summary>
    public Action<RpcFailedCall>? CallFailed { get; set; }

    /// <summary>Makes the logger of the server, in the category <c>ProtoRpc.RpcServer</c>. It logs the calls
    /// that <see cref="CallFailed"/> records: an exception that is not sent to the caller as an error, with
    /// its correlation id; a failure that a handler wrote for the caller as information. Null for no
    /// log.</summary>
    public ILoggerFactory? LoggerFactory { get; set; }

    /// <summary>Where every call is written, also one that is refused before a handler sees it. Null for
    /// nowhere.</summary>
    public RpcAccessLog? AccessLog { get; set; }

    /// <summary>Receives what is received and sent, for debugging; null for none. Servers of one process that
    /// share a native endpoint share the trace of one of them.</summary>
    public RpcTrace? Trace { get; set; }

    internal RpcServerOptions Copy() => this with
    {
        Limits = Limits with { },
        Security = Security with { },
        PingHandlers = [.. PingHandlers],
        Interceptors = [.. Interceptors],
    };
}
