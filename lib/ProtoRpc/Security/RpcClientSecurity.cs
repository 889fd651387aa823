using System.Net;

namespace ProtoRpc;

/// <summary>As whom a client calls, and how that is proved and, on native endpoints, protected.</summary>
public sealed record RpcClientSecurity
{
    /// <summary>Anonymous calls. Local transports still identify the caller.</summary>
    public static RpcClientSecurity Anonymous => new();

    /// <summary>As whom. On local transports and pipes <see cref="RpcClientAuthentication.Self"/> is the word
    /// of the kernel, and needs nothing.</summary>
    public RpcClientAuthentication Authentication { get; set; }

    /// <summary>The user of <see cref="RpcClientAuthentication.User"/>.</summary>
    public NetworkCredential? Credential { get; set; }

    /// <summary>The token of <see cref="RpcClientAuthentication.Bearer"/>.</summary>
    public string? Token { get; set; }

    /// <summary>How it is proved.</summary>
    public RpcMechanism Mechanism { get; set; }

    /// <summary>How the calls are protected.</summary>
    public RpcProtectionLevel ProtectionLevel { get; set; } = RpcProtectionLevel.Privacy;

    /// <summary>The name under which Kerberos knows the server;
    /// null for <c>host/</c> and the endpoint's host.</summary>
    public string? ServicePrincipalName { get; set; }

    /// <summary>How it is proved, without the token: that belongs in no log.</summary>
    public override string ToString() =>
        $"{nameof(RpcClientSecurity)} {{ {Authentication}, {Mechanism}, {ProtectionLevel} }}";
}
