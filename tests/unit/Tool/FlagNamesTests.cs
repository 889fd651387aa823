using ProtoRpc.Tool;

namespace ProtoRpc.Tests.Tool;

public static class FlagNamesTests
{
    [Fact]
    public static void Texts_of_a_command_line_ask_for_no_byte_array() => Assert.Equal(
        "Give 'utf8:a', or 'base64:YQ=='.",
        FlagNames.Rename("Give a byte array, 'utf8:a', or 'base64:YQ=='."));

    [Fact]
    public static void Texts_name_options_unless_a_server_wrote_them()
    {
        const string Text = "Set RpcTlsOptions.CaCertificates, or RpcLimits.MaxHeaders. Give a schema. "
            + "Give a folder as an import path. RpcLoadOptions.Rate is 0.";

        Assert.Equal(
            "Set --cacert, or RpcLimits.MaxHeaders. Use --schema to give a schema. "
            + "Give a folder with --import-path. --rate is 0.",
            FlagNames.Rename(new RpcException(RpcStatusCode.Unavailable, Text, null, isByProtoRpc: true)));
        Assert.Equal(
            Text, FlagNames.Rename(
                new RpcException(RpcStatusCode.Unavailable, Text, null, isByProtoRpc: false)));
    }
}
