using ProtoRpc.Security;
using ProtoRpc.Security.Sspi;

namespace ProtoRpc.Tests.Security.Sspi;

/// <summary>What of SSPI can be told without Windows: layouts, flags, choices, texts.</summary>
public static unsafe class SspiTests
{
    [Fact]
    public static void Structures_are_those_of_the_64_bit_headers()
    {
        Assert.Equal(8, sizeof(nint));
        Assert.Equal(16, sizeof(SspiBuffer));
        Assert.Equal(16, sizeof(SspiBuffers));
        Assert.Equal(16, sizeof(SspiHandle));
        Assert.Equal(16, sizeof(SspiSizes));
        Assert.Equal(48, sizeof(SspiIdentity));
        Assert.Equal(32, sizeof(SspiPackageInfo));
    }

    [Theory]
    [InlineData(true, SspiBuffer.Data | SspiBuffer.ReadOnlyWithChecksum)]
    [InlineData(false, SspiBuffer.Data | SspiBuffer.ReadOnly)]
    public static void Only_the_data_of_a_PDU_may_be_changed(bool signsHeaders, uint around)
    {
        byte[] pdu = new byte[24 + 48 + 8];
        byte[] signature = new byte[16];
        SspiBuffer* parts = stackalloc SspiBuffer[SspiBuffers.OfPdu];
        fixed (byte* start = pdu)
        fixed (byte* token = signature)
        {
            SspiBuffers message = SspiBuffers.Describe(
                parts, start, pdu.Length, 24..^8, signsHeaders, token, signature.Length);

            Assert.Equal((0u, 4u), (message.Version, message.Count));
            Assert.Equal((around, 24u, 0L), (parts[0].Type, parts[0].Length, parts[0].Value - start));
            Assert.Equal((SspiBuffer.Data, 48u, 24L), (parts[1].Type, parts[1].Length, parts[1].Value - start));
            Assert.Equal((around, 8u, 72L), (parts[2].Type, parts[2].Length, parts[2].Value - start));
            Assert.Equal((SspiBuffer.Token, 16u, 0L), (parts[3].Type, parts[3].Length, parts[3].Value - token));
        }
    }

    [Theory]
    [InlineData(RpcProtectionLevel.Connect, true, true, true)]
    [InlineData(RpcProtectionLevel.Packet, false, true, true)]
    [InlineData(RpcProtectionLevel.Integrity, false, true, true)]
    [InlineData(RpcProtectionLevel.Privacy, false, false, true)]
    public static void A_level_needs_what_was_agreed_on(RpcProtectionLevel level, bool none, bool signed, bool both)
    {
        Assert.Equal(none, SspiFlags.Support(0, isServer: false, level));
        Assert.Equal(signed, SspiFlags.Support(SspiFlags.ClientIntegrity, isServer: false, level));
        Assert.Equal(none, SspiFlags.Support(SspiFlags.ClientIntegrity, isServer: true, level));
        Assert.Equal(
            both, SspiFlags.Support(SspiFlags.ServerIntegrity | SspiFlags.Confidentiality, isServer: true, level));
    }

    [Theory]
    [InlineData(RpcClientAuthentication.Self, RpcMechanism.Default, 10)]
    [InlineData(RpcClientAuthentication.Self, RpcMechanism.Ntlm, 10)]
    [InlineData(RpcClientAuthentication.Self, RpcMechanism.Negotiate, 9)]
    [InlineData(RpcClientAuthentication.Self, RpcMechanism.Kerberos, 16)]
    [InlineData(RpcClientAuthentication.User, RpcMechanism.Default, null)]
    [InlineData(RpcClientAuthentication.User, RpcMechanism.Ntlm, null)]
    [InlineData(RpcClientAuthentication.User, RpcMechanism.Negotiate, 9)]
    [InlineData(RpcClientAuthentication.User, RpcMechanism.Kerberos, 16)]
    public static void A_client_of_Windows_uses_the_systems_package_but_for_NTLM_with_a_password(
        RpcClientAuthentication authentication, RpcMechanism mechanism, int? package)
    {
        RpcClientSecurity security = new() { Authentication = authentication, Mechanism = mechanism };

        Assert.Equal(package, SspiChoice.OfClient(security, isWindows: true));
        Assert.Null(SspiChoice.OfClient(security, isWindows: false));
    }

    [Fact]
    public static void A_listener_of_Windows_verifies_by_the_system_but_for_accounts_of_its_own()
    {
        RpcServerSecurity all = new()
        {
            Authentication = RpcAuthentication.Ntlm | RpcAuthentication.Negotiate | RpcAuthentication.Kerberos,
        };
        RpcServerSecurity own = all with { NtlmAccounts = [NtlmAccount.From(new("bob", "Pa55word"))] };

        Assert.Equal([16, 10, 9], SspiChoice.OfServer(all, isWindows: true));
        Assert.Equal([16], SspiChoice.OfServer(own, isWindows: true));
        Assert.Empty(SspiChoice.OfServer(all, isWindows: false));
        Assert.Empty(SspiChoice.OfServer(RpcServerSecurity.Anonymous, isWindows: true));
    }

    [Fact]
    public static void What_the_system_refuses_is_said_in_words()
    {
        RpcException denied = SspiStatus.Refused("NTLM", unchecked((int)0x8009030C));
        RpcException unknown = SspiStatus.Refused("Kerberos", unchecked((int)0x80091234));

        Assert.Equal((RpcStatusCode.Unauthenticated, "AuthenticationFailed"), (denied.Code, denied.ErrorId));
        Assert.Contains("password is wrong", denied.Message, StringComparison.Ordinal);
        Assert.Contains("0x80091234", unknown.Message, StringComparison.Ordinal);
        Assert.Equal("NoCredentials", SspiStatus.NoCredential("Kerberos", unchecked((int)0x80090305)).ErrorId);
    }
}
