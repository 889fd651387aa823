using System.Net;

namespace ProtoRpc;

/// <summary>How a client authenticates, and how native endpoints protect its calls.</summary>
public sealed record RpcClientSecurity
{
    /// <summary>Anonymous calls. Local transports still identify the caller.</summary>
    public static RpcClientSecurity Anonymous => new();

    /// <summary>The identity of the calls. On local transports and pipes, the kernel reports the user for
    /// <see cref="RpcClientAuthentication.Self"/>, and no mechanism is needed.</summary>
    public RpcClientAuthentication Authentication { get; set; }

    /// <summary>The credential for <see cref="RpcClientAuthentication.User"/>.</summary>
    public NetworkCredential? Credential { get; set; }

    /// <summary>The bearer token for <see cref="RpcClientAuthentication.Bearer"/>.</summary>
    public string? Token { get; set; }

    /// <summary>The authentication mechanism.</summary>
    public RpcMechanism Mechanism { get; set; }

    /// <summary>How the calls are protected.</summary>
    public RpcProtectionLevel ProtectionLevel { get; set; } = RpcProtectionLevel.Privacy;

    /// <summary>The Kerberos service principal name of the server; null for <c>host/</c> and the endpoint's
    /// host.</summary>
    public string? ServicePrincipalName { get; set; }

    /// <summary>The account that runs the server of a <c>grpc+unix</c>, <c>ncalrpc</c> or <c>ncacn_np</c>
    /// endpoint on this machine: a name, or a user id or SID. Connecting fails if another account runs it.
    /// Null allows every account, but the client then sends tokens, passwords and headers with secrets only
    /// to its own account and to administrators, and calls <c>ncalrpc</c> endpoints only of these.</summary>
    public string? ServerUser { get; set; }

    /// <summary>The authentication, without the token, which must not be logged.</summary>
    public override string ToString() =>
        $"{nameof(RpcClientSecurity)} {{ {Authentication}, {Mechanism}, {ProtectionLevel} }}";
}
