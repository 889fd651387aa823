using System.Security.Cryptography.X509Certificates;
using Microsoft.Extensions.Logging;

namespace ProtoRpc;

/// <summary>How a server of the raw layer behaves.</summary>
public sealed record RpcRawServerOptions
{
    /// <summary>The bounds of the endpoints that the server binds.</summary>
    public RpcLimits Limits { get; set; } = RpcLimits.Default;

    /// <summary>Whom the endpoints let in.</summary>
    public RpcServerSecurity Security { get; set; } = RpcServerSecurity.Anonymous;

    /// <summary>What stands around every call, the first one outermost.</summary>
    public IReadOnlyList<IRpcRawInterceptor> Interceptors { get; set; } = [];

    /// <summary>The certificate, with its private key, of <c>tcp://</c> endpoints with
    /// <see cref="UseTls"/>. Null for none.</summary>
    public X509Certificate2? Certificate { get; set; }

    /// <summary>The authorities between the certificate and its root, which are shown with it;
    /// null for those that the machine knows.</summary>
    public X509Certificate2Collection? CertificateChain { get; set; }

    /// <summary>Whether endpoints on TCP use TLS.</summary>
    public bool UseTls { get; set; }

    /// <summary>Calls of the interface at the same time; one more is refused as too busy: 255.</summary>
    public int MaxCalls { get; set; } = 255;

    /// <summary>Makes the logger of the server, in the category <c>ProtoRpc.RpcRawServer</c>. It logs the
    /// calls that fail: as an error an exception of the handler, as information a caller that was refused.
    /// Null for no log.</summary>
    public ILoggerFactory? LoggerFactory { get; set; }

    /// <summary>Where every call is written, also one that is refused before a handler sees it. Null for
    /// nowhere.</summary>
    public RpcAccessLog? AccessLog { get; set; }

    /// <summary>Receives what is received and sent, for debugging; null for none. Servers of one process that
    /// share a native endpoint share the trace of one of them.</summary>
    public RpcTrace? Trace { get; set; }

    /// <summary>Largest request of the interface in bytes; null for the limit of the endpoint.</summary>
    public int? MaxRequestBytes { get; set; }
}
