using ProtoRpc.Tests.Messages;
using ProtoRpc.Tests.Schema;

namespace ProtoRpc.Tests.Formats;

/// <summary>Short ways to read and write in the tests of formats.</summary>
internal static class FormatCases
{
    public static DynamicMessage Read(
        this MessageFormat format, string type, string text, FormatOptions? options = null) =>
        format.Read(TestMessages.Type(type), text, options);

    public static RpcException Refused(
        this MessageFormat format, string type, string text, FormatOptions? options = null) =>
        Assert.Throws<RpcException>(() => format.Read(type, text, options));

    public static RpcException Refused(this MessageFormat format, string type, byte[] bytes) =>
        Assert.Throws<RpcException>(() => format.Read(TestMessages.Type(type), bytes));

    /// <summary>What is written of what was read.</summary>
    public static string Again(
        this MessageFormat format, string type, string text, FormatOptions? options = null) =>
        format.ToText(format.Read(type, text, options), options);

    /// <summary>The messages of the search service.</summary>
    public static RpcMessageInfo Search(string name) => SearchOnce.Value.GetMessage(name);

    private static readonly Lazy<RpcSchema> SearchOnce =
        new(() => RpcSchema.Load([Path.Combine(TestProtos.Shipped, "search.proto")]));
}
