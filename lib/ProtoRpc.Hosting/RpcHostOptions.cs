namespace ProtoRpc;

/// <summary>How the server of an application behaves. Read from the configuration's section
/// <c>ProtoRpc</c>, and changed in code after that.</summary>
public sealed class RpcHostOptions
{
    /// <summary>The name of the section.</summary>
    public const string Section = "ProtoRpc";

    /// <summary>The endpoints that the server opens itself, beside those of the application: string bindings
    /// or URIs. Key <c>Endpoints</c>.</summary>
    public IList<string> Endpoints { get; set; } = [];

    /// <summary>Limits, certificate, sessions, authentication and errors. Keys <c>Limits:NAME</c>,
    /// <c>Security:NAME</c>, <c>UseTls</c>, <c>ErrorDetail</c>, <c>EnableSessions</c>,
    /// <c>EnableMultiPart</c>, and <c>Certificate:Path</c> with <c>Certificate:Password</c> and
    /// <c>Certificate:KeyPath</c> where the file needs them. The certificate is for the endpoints that the
    /// server opens itself; Kestrel's own settings have the certificate of the application's
    /// endpoints.</summary>
    public RpcServerOptions Server { get; set; } = new();

    /// <summary>HTTP and gRPC, on the application's own endpoints and on those of the section. Keys
    /// <c>Http:NAME</c>.</summary>
    public HttpServerOptions Http { get; set; } = new();

    /// <summary>How often the health checks run while a caller watches the health: 5 seconds. Key
    /// <c>HealthPeriod</c>.</summary>
    public TimeSpan HealthPeriod { get; set; } = TimeSpan.FromSeconds(5);
}
