namespace ProtoRpc.Tests.Shared;

public static class RpcStatusTableTests
{
    public static TheoryData<RpcStatusCode> Codes => [.. Enum.GetValues<RpcStatusCode>()];

    [Theory]
    [MemberData(nameof(Codes))]
    public static void Every_status_has_a_row_of_its_own(RpcStatusCode code)
    {
        Assert.InRange(RpcStatusTable.HttpStatusOf(code), 200, 599);
        Assert.NotEmpty(RpcStatusTable.CategoryOf(code));
        Assert.Equal(code == RpcStatusCode.OK, RpcStatusTable.FaultOf(code) == 0);
    }

    [Theory]
    [InlineData(0x00000005u, RpcStatusCode.PermissionDenied)]
    [InlineData(0x000006F7u, RpcStatusCode.InvalidArgument)]
    [InlineData(1717u, RpcStatusCode.Unimplemented)]
    [InlineData(1722u, RpcStatusCode.Unavailable)]
    [InlineData(1723u, RpcStatusCode.ResourceExhausted)]
    [InlineData(1726u, RpcStatusCode.Unknown)]
    [InlineData(1818u, RpcStatusCode.Cancelled)]
    [InlineData(1821u, RpcStatusCode.Unauthenticated)]
    [InlineData(1130u, RpcStatusCode.ResourceExhausted)]
    [InlineData(0x1C010002u, RpcStatusCode.Unimplemented)]
    [InlineData(0x1C00000Du, RpcStatusCode.Cancelled)]
    [InlineData(0x80004005u, RpcStatusCode.Unknown)]
    [InlineData(0xDEADBEEFu, RpcStatusCode.Unknown)]
    public static void A_native_status_has_a_code_and_a_meaning(uint status, RpcStatusCode expected)
    {
        (RpcStatusCode code, string meaning) = RpcStatusTable.OfNativeStatus(status);

        Assert.Equal(expected, code);
        Assert.NotEmpty(meaning);
    }

    [Fact]
    public static void A_number_that_is_no_status_is_refused() =>
        Assert.Throws<ArgumentOutOfRangeException>(() => RpcStatusTable.HttpStatusOf((RpcStatusCode)17));
}
