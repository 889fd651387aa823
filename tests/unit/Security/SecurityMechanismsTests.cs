using System.Net;
using ProtoRpc.Security;
using ProtoRpc.Security.Gss;

namespace ProtoRpc.Tests.Security;

public static class SecurityMechanismsTests
{
    [Fact]
    public static void Every_mechanism_that_can_be_named_is_one_row()
    {
        Assert.Equal(
            Enum.GetValues<RpcMechanism>().Where(mechanism => mechanism != RpcMechanism.Default).Order(),
            SecurityMechanisms.All.Select(row => row.Mechanism).Order());
        Assert.Equal(
            Enum.GetValues<RpcAuthentication>().Where(flag => flag != RpcAuthentication.None).Order(),
            SecurityMechanisms.All.Select(row => row.Accepted).Order());
        Assert.Distinct(SecurityMechanisms.All.Select(row => row.Package));
    }

    [Theory]
    [InlineData(RpcMechanism.Default, "NTLM")]
    [InlineData(RpcMechanism.Ntlm, "NTLM")]
    [InlineData(RpcMechanism.Kerberos, "Kerberos")]
    [InlineData(RpcMechanism.Negotiate, "Negotiate")]
    public static void A_name_finds_its_row_and_its_number_the_name(RpcMechanism mechanism, string name)
    {
        SecurityMechanism row = SecurityMechanisms.Get(mechanism, usual: RpcMechanism.Ntlm);

        Assert.Equal(name, row.Name);
        Assert.Equal(name, SecurityPackage.NameOf(row.Package));
    }

    [Fact]
    public static void An_account_without_a_name_or_with_a_short_hash_is_rejected()
    {
        Assert.All(
            [
                Assert.Throws<RpcException>(() => NtlmAccount.From(new NetworkCredential("", "secret"))),
                Assert.Throws<RpcException>(() => NtlmAccount.FromHash("ann", new byte[15])),
            ],
            e => Assert.Equal("InvalidNtlmAccount", e.ErrorId));
    }

    [Fact]
    public static void Kerberos_needs_its_library()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows() || GssApi.IsAvailable, "this system has Kerberos");
        RpcServerSecurity security = new() { Authentication = RpcAuthentication.Kerberos };

        RpcException e = Assert.Throws<RpcException>(() => new SecurityPolicy(security));

        Assert.Equal("NoKerberos", e.ErrorId);
    }

    [Fact]
    public static void An_unknown_number_is_named_by_itself() =>
        Assert.Equal("authentication type 7", SecurityPackage.NameOf(7));
}
