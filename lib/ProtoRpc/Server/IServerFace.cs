using System.Net.Security;
using System.Reflection;

namespace ProtoRpc.Server;

/// <summary>One way to serve methods on endpoints: the native protocol, HTTP, gRPC.</summary>
internal interface IServerFace
{
    /// <summary>Whether endpoints of a kind are served by this face.</summary>
    bool Serves(EndpointKindAttribute kind);

    /// <summary>Binds an endpoint and begins to serve.</summary>
    IServedEndpoint Bind(RpcEndpoint endpoint, ServerHost host);
}

/// <summary>An endpoint that is being served.</summary>
internal interface IServedEndpoint
{
    /// <summary>The endpoint as bound.</summary>
    RpcEndpoint Endpoint { get; }

    /// <summary>Connections now open.</summary>
    int Connections { get; }

    /// <summary>Connections accepted.</summary>
    long Accepted { get; }

    /// <summary>Refuses new calls, lets running ones end within the time, then cancels and closes.</summary>
    Task StopAsync(TimeSpan drain);

    /// <summary>Shows another certificate to the connections that come from now on. Throws nothing; an
    /// endpoint without TLS ignores it.</summary>
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
