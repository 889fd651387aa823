using System.Net;
using ProtoRpc.Security.Ntlm;
using ProtoRpc.Tests.Protocols.Dce;

namespace ProtoRpc.Tests.Security.Ntlm;

/// <summary>The recorded authentication: its tokens, its secrets,
/// and a server that it was meant for.</summary>
internal static class NtlmVectors
{
    public static readonly NetworkCredential Credential = new("User", "Password", "DOMAIN");

    public static byte[] Negotiate => Token("bind-ntlm");

    public static byte[] Challenge => Token("bind-ack-ntlm");

    public static byte[] Authenticate => Token("auth3-ntlm");

    /// <summary>The time that the recorded challenge has.</summary>
    public static DateTimeOffset Time => ChallengeMessage.Read(Challenge)!.TargetInfo.Timestamp!.Value;

    public static NtlmServerOptions Server => new()
    {
        ComputerName = "SERVER",
        DomainName = "DOMAIN",
        Clock = new FixedClock(Time),
        Random = count => Known("auth3-ntlm", "server_challenge")[..count],
    };

    public static byte[] Known(string vector, string name) => Convert.FromHexString(
        WireVector.Load(vector).Fields.GetProperty("known").GetProperty(name).GetString()!);

    public static byte[] Token(string vector) => Convert.FromHexString(
        WireVector.Load(vector).Fields.GetProperty("trailer").GetProperty("auth_value_hex").GetString()!);

    public static NtlmAccountTable Accounts(params NtlmAccount[] accounts) =>
        new(accounts.Length > 0 ? accounts : [NtlmAccount.From(Credential)]);

    public static NtlmServerContext NewServer(
        NtlmServerOptions? options = null, params NtlmAccount[] accounts) =>
        new(Accounts(accounts), options ?? new NtlmServerOptions());

    public static NtlmClientContext NewClient(
        NetworkCredential? credential = null, NtlmClientOptions? options = null) =>
        new(NtlmCredential.From(credential ?? Credential), options ?? new NtlmClientOptions());

    public sealed class FixedClock(DateTimeOffset now) : TimeProvider
    {
        public override DateTimeOffset GetUtcNow() => now;
    }
}
