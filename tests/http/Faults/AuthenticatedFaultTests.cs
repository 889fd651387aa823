namespace ProtoRpc.Http.Tests.Faults;

/// <summary>A network that harms conversations of callers who authenticate. Where integrity is protected, no
/// harmed octet is ever taken for a request or a reply.</summary>
/// <remarks>A class for each mechanism and level, because xunit runs the tests of one class one after the
/// other.</remarks>
/// <param name="mechanism">The mechanism.</param>
/// <param name="level">The level of protection.</param>
public abstract class AuthenticatedFaultTests(RpcMechanism mechanism, RpcProtectionLevel level)
{
    [Theory]
    [InlineData(FaultKind.Cut, 1)]
    [InlineData(FaultKind.Reset, 11)]
    [InlineData(FaultKind.Flip, 1)]
    [InlineData(FaultKind.Drop, 47)]
    [InlineData(FaultKind.Duplicate, 3)]
    [InlineData(FaultKind.Swap, 23)]
    [InlineData(FaultKind.Delay, 251)]
    [InlineData(FaultKind.Stall, 181)]
    [InlineData(FaultKind.Drip, 1000)]
    public async Task A_call_has_one_end_and_runs_as_asked(FaultKind kind, int step)
    {
        // At this level, flipped octets are not noticed, and calls run into their deadline.
        bool isUnprotected = kind == FaultKind.Flip && level == RpcProtectionLevel.Connect;
        await FaultReport.TryAsync(
            FaultSetup.Ntlm("ncacn_ip_tcp:127.0.0.1[0]", mechanism, level), kind, isUnprotected ? 7 : step);
    }
}

/// <summary>Of NTLM without protection of messages.</summary>
public sealed class ConnectFaultTests()
    : AuthenticatedFaultTests(RpcMechanism.Ntlm, RpcProtectionLevel.Connect);

/// <summary>Of signed messages.</summary>
public sealed class IntegrityFaultTests()
    : AuthenticatedFaultTests(RpcMechanism.Ntlm, RpcProtectionLevel.Integrity);

/// <summary>Of encrypted messages.</summary>
public sealed class PrivacyFaultTests()
    : AuthenticatedFaultTests(RpcMechanism.Ntlm, RpcProtectionLevel.Privacy);

/// <summary>Of a mechanism that client and server negotiate.</summary>
public sealed class NegotiateFaultTests()
    : AuthenticatedFaultTests(RpcMechanism.Negotiate, RpcProtectionLevel.Integrity);
