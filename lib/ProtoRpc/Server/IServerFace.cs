using System.Net.Security;
using System.Reflection;

namespace ProtoRpc.Server;

/// <summary>Serves methods over a protocol: the native protocol, HTTP or gRPC.</summary>
internal interface IServerFace
{
    /// <summary>Whether this face serves endpoints of a kind.</summary>
    bool Serves(EndpointKindAttribute kind);

    /// <summary>Whether the face requires a check of callers that other faces do not run.</summary>
    bool ChecksCallers => false;

    /// <summary>Whether an endpoint serves anonymous callers because no option says whether it
    /// should.</summary>
    bool IsOpenByDefault(RpcEndpoint endpoint, RpcServerSecurity security) =>
        !endpoint.Has(EndpointFeatures.KnowsCaller) && !security.IsAuthenticationSet;

    /// <summary>Binds an endpoint and starts to serve it.</summary>
    IServedEndpoint Bind(RpcEndpoint endpoint, ServerHost host);
}

/// <summary>A served endpoint.</summary>
internal interface IServedEndpoint
{
    /// <summary>The bound endpoint.</summary>
    RpcEndpoint Endpoint { get; }

    /// <summary>The number of open connections.</summary>
    int Connections { get; }

    /// <summary>The number of accepted connections.</summary>
    long Accepted { get; }

    /// <summary>Rejects new calls, lets running calls end within the time, then cancels the rest and
    /// closes.</summary>
    Task StopAsync(TimeSpan drain);

    /// <summary>Uses another certificate for new connections. Never throws; an endpoint without TLS ignores
    /// it.</summary>
    void Show(SslStreamCertificateContext certificate)
    {
    }
}

/// <summary>Adds a face to every server, so that a new way to serve needs only its own file. Faces with
/// options, such as those of ASP.NET Core, are added together with their
/// options.</summary>
[AttributeUsage(AttributeTargets.Assembly, AllowMultiple = true)]
internal abstract class ServerFaceAttribute : Attribute
{
    /// <summary>The faces of this assembly.</summary>
    public static IReadOnlyList<IServerFace> All { get; } =
    [
        .. typeof(ServerFaceAttribute).Assembly.GetCustomAttributes<ServerFaceAttribute>()
            .Select(attribute => attribute.Create()),
    ];

    protected abstract IServerFace Create();
}

/// <inheritdoc/>
/// <typeparam name="TFace">The face.</typeparam>
[AttributeUsage(AttributeTargets.Assembly, AllowMultiple = true)]
internal sealed class ServerFaceAttribute<TFace> : ServerFaceAttribute
    where TFace : IServerFace, new()
{
    protected override IServerFace Create() => new TFace();
}
