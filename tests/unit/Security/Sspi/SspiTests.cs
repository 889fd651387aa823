using System.Runtime.InteropServices;
using ProtoRpc.Security.Sspi;

#pragma warning disable CA1416 // Numbers and layouts are the same everywhere; nothing is called.
namespace ProtoRpc.Tests.Security.Sspi;

/// <summary>What of SSPI can be told without Windows: layouts, flags, choices, texts.</summary>
public static unsafe class SspiTests
{
    [Fact]
    public static void Structures_are_those_of_the_64_bit_headers()
    {
        Assert.Equal(8, sizeof(nint));
        Assert.Equal(16, sizeof(SspiHandle));
        AssertLayout<SspiBuffer>(16, ("Length", 0), ("Type", 4), ("Value", 8));
        AssertLayout<SspiBuffers>(16, ("Version", 0), ("Count", 4), ("Parts", 8));
        AssertLayout<SspiSizes>(
            16, ("MaxToken", 0), ("MaxSignature", 4), ("BlockSize", 8), ("SecurityTrailer", 12));
        AssertLayout<SspiTarget>(8, ("_name", 0));
        AssertLayout<SspiNegotiation>(16, ("_package", 0), ("_state", 8));
        AssertLayout<SspiPackageInfo>(
            32, ("Capabilities", 0), ("Version", 4), ("RpcId", 6), ("MaxToken", 8), ("Name", 16),
            ("Comment", 24));
        AssertLayout<SspiIdentity>(
            48, ("User", 0), ("UserLength", 8), ("Domain", 16), ("DomainLength", 24), ("Password", 32),
            ("PasswordLength", 40), ("Flags", 44));
    }

    [Fact]
    public static void Numbers_are_those_of_the_headers()
    {
        Assert.Equal((0x10000000u, 0x80000000u), (SspiBuffer.ReadOnlyWithChecksum, SspiBuffer.ReadOnly));
        Assert.Equal((1u, 2u), (SspiBuffer.Data, SspiBuffer.Token));
        Assert.Equal((1u, 2u), (SspiApi.Inbound, SspiApi.Outbound));
        Assert.Equal((0u, 12u, 14u), (SspiApi.OfSizes, SspiApi.OfNegotiation, SspiApi.OfFlags));
        Assert.Equal(27u, SspiApi.OfTarget);

        // DCE style and a connection on both sides; the system allocates nothing.
        Assert.Equal(0x00010A1Eu, SspiFlags.OfClient);
        Assert.Equal(0x00020A1Cu, SspiFlags.OfDceServer);
        Assert.Equal(0x0002081Cu, SspiFlags.OfServer);
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
            Assert.Equal(
                (SspiBuffer.Data, 48u, 24L), (parts[1].Type, parts[1].Length, parts[1].Value - start));
            Assert.Equal((around, 8u, 72L), (parts[2].Type, parts[2].Length, parts[2].Value - start));
            Assert.Equal(
                (SspiBuffer.Token, 16u, 0L), (parts[3].Type, parts[3].Length, parts[3].Value - token));
        }
    }

    [Theory]
    [InlineData(RpcProtectionLevel.Connect, true, true, true)]
    [InlineData(RpcProtectionLevel.Packet, false, true, true)]
    [InlineData(RpcProtectionLevel.Integrity, false, true, true)]
    [InlineData(RpcProtectionLevel.Privacy, false, false, true)]
    public static void A_level_needs_what_was_agreed_on(
        RpcProtectionLevel level, bool none, bool signed, bool both)
    {
        Assert.Equal(none, SspiFlags.Support(0, isServer: false, level));
        Assert.Equal(signed, SspiFlags.Support(SspiFlags.ClientIntegrity, isServer: false, level));
        Assert.Equal(none, SspiFlags.Support(SspiFlags.ClientIntegrity, isServer: true, level));
        Assert.Equal(
            both,
            SspiFlags.Support(SspiFlags.ServerIntegrity | SspiFlags.Confidentiality, isServer: true, level));
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
            Authentication =
                RpcAuthentication.Ntlm | RpcAuthentication.Negotiate | RpcAuthentication.Kerberos,
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
        Assert.Contains("password is wrong (SEC_E_LOGON_DENIED)", denied.Message, StringComparison.Ordinal);
        Assert.Contains(
            "SEC_E_INVALID_HANDLE", SspiStatus.Refused("NTLM", unchecked((int)0x80090301)).Message,
            StringComparison.Ordinal);
        Assert.Contains("0x80091234", unknown.Message, StringComparison.Ordinal);
        Assert.Contains(
            "SEC_E_POLICY_NLTM_ONLY", SspiStatus.Text(unchecked((int)0x8009035F)), StringComparison.Ordinal);
        Assert.Equal(
            "NoCredentials", SspiStatus.NoCredential("Kerberos", unchecked((int)0x80090305)).ErrorId);
    }

    private static void AssertLayout<T>(int size, params (string Field, int Offset)[] fields)
        where T : unmanaged
    {
        Assert.Equal(size, sizeof(T));
        foreach ((string field, int offset) in fields)
        {
            Assert.Equal((field, offset), (field, (int)Marshal.OffsetOf<T>(field)));
        }
    }
}
