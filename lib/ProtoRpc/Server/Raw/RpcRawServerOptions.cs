using System.Security.Cryptography.X509Certificates;
using Microsoft.Extensions.Logging;

namespace ProtoRpc;

/// <summary>The options of a raw server.</summary>
public sealed record RpcRawServerOptions
{
    /// <summary>The limits of the server's endpoints.</summary>
    public RpcLimits Limits { get; set; } = RpcLimits.Default;

    /// <summary>The authentication that the endpoints require.</summary>
    public RpcServerSecurity Security { get; set; } = new();

    /// <summary>The interceptors of every call, the first one outermost.</summary>
    public IReadOnlyList<IRpcRawInterceptor> Interceptors { get; set; } = [];

    /// <summary>The certificate, with its private key, of <c>tcp://</c> endpoints with
    /// <see cref="UseTls"/>. Null for none.</summary>
    public X509Certificate2? Certificate { get; set; }

    /// <summary>The intermediate certificates to send with the certificate; null to use those that the
    /// machine has.</summary>
    public X509Certificate2Collection? CertificateChain { get; set; }

    /// <summary>Whether endpoints on TCP use TLS.</summary>
    public bool UseTls { get; set; }

    /// <summary>The maximum number of parallel calls of the interface; more are rejected as too busy. The
    /// default is 255.</summary>
    public int MaxCalls { get; set; } = 255;

    /// <summary>Creates the logger of the server, in the category <c>ProtoRpc.RpcRawServer</c>; null for no
    /// log. Exceptions of the handler are logged as errors, and rejected callers as information. It
    /// warns once a minute if the server cannot accept connections, because its process has too few free file
    /// handles.</summary>
    public ILoggerFactory? LoggerFactory { get; set; }

    /// <summary>Receives warnings about the server itself, for hosts that have their own log.</summary>
    internal Action<string>? Warned { get; set; }

    /// <summary>The log of all calls, including calls that are rejected before the handler; null for
    /// none.</summary>
    public RpcAccessLog? AccessLog { get; set; }

    /// <summary>Receives what the server receives and sends, for debugging; null for none. If servers of one
    /// process share a native endpoint, only the trace of one of them receives it.</summary>
    public RpcTrace? Trace { get; set; }

    /// <summary>The maximum size of the interface's requests in bytes; null for the limit of the
    /// endpoint.</summary>
    public int? MaxRequestBytes { get; set; }
}
