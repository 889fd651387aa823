using System.Net;

namespace ProtoRpc.Benchmarks.Security;

/// <summary>The kinds of secured callers and servers that are measured,
/// by the names of their processes.</summary>
internal static class CallSecurity
{
    public const string Self = "self";

    /// <summary>As <see cref="Self"/>, by a handler that acts as the caller.</summary>
    public const string Impersonated = "self-impersonated";

    public const string Integrity = "ntlm-integrity";
    public const string Privacy = "ntlm-privacy";

    private static readonly NetworkCredential Bob = new("bob", "Pa55word");

    /// <summary>As whom a kind of caller calls.</summary>
    public static RpcClientSecurity OfClient(string kind) => kind switch
    {
        Self or Impersonated => new RpcClientSecurity { Authentication = RpcClientAuthentication.Self },
        Integrity => OfUser(RpcProtectionLevel.Integrity),
        Privacy => OfUser(RpcProtectionLevel.Privacy),
        _ => RpcClientSecurity.Anonymous,
    };

    /// <summary>Whom a kind of server lets in.</summary>
    public static RpcServerSecurity OfServer(string kind) =>
        kind is Self or Impersonated or Integrity or Privacy
        ? new RpcServerSecurity
        {
            Authentication = RpcAuthentication.Ntlm,
            NtlmAccounts = [NtlmAccount.From(Bob)]
        }
        : RpcServerSecurity.Anonymous;

    private static RpcClientSecurity OfUser(RpcProtectionLevel level) => new()
    {
        Authentication = RpcClientAuthentication.User,
        Credential = Bob,
        ProtectionLevel = level,
    };
}
