using ProtoRpc.Security.Gss;

namespace ProtoRpc.Tests.Security.Gss;

public static class GssFrameTests
{
    private const string Oid = "06092A864886F712010202";

    [Theory]
    [InlineData($"6010{Oid}01006E01FF", "6E01FF")]
    [InlineData($"600D{Oid}0100", "")]
    [InlineData($"60820010{Oid}01006E01FF", "6E01FF")]
    public static void A_frame_is_taken_away(string framed, string token)
    {
        Assert.Equal(token, Convert.ToHexString(GssFrame.Remove(Convert.FromHexString(framed))));
    }

    [Theory]
    [InlineData("")]
    [InlineData("60")]
    [InlineData("6E03020100")]
    [InlineData($"600D{Oid}0200")]
    [InlineData($"600C{Oid}01")]
    [InlineData($"6010{Oid}01006E01")]
    [InlineData($"600D{Oid}01006E01FF")]
    [InlineData("600A06062B06010505020100")]
    [InlineData("6005060A2A8648")]
    public static void Anything_else_stays_as_it_is(string token)
    {
        Assert.Equal(token, Convert.ToHexString(GssFrame.Remove(Convert.FromHexString(token))));
    }
}
