using ProtoRpc.Tests.Schema;

namespace ProtoRpc.Tests.Messages;

/// <summary>Messages of the test schema, from bytes written in hex.</summary>
internal static class TestMessages
{
    public static RpcMessageInfo Type(string name) => TestProtos.Everything.GetMessage("everything." + name);

    public static DynamicMessage Parse(string type, string hex) =>
        DynamicMessage.Parse(Type(type), Bytes(hex).AsSpan());

    public static DynamicMessage Parse(string type, byte[] bytes) =>
        DynamicMessage.Parse(Type(type), bytes.AsSpan());

    public static RpcException Refused(string type, byte[] bytes) =>
        Assert.Throws<RpcException>(() => Parse(type, bytes));

    public static byte[] Bytes(string hex) => Convert.FromHexString(hex.Replace(" ", ""));

    public static string Hex(DynamicMessage message) => Convert.ToHexString(message.ToByteArray());

    public static string Compact(string hex) => hex.Replace(" ", "");

    public static object? Get(this DynamicMessage message, string field) =>
        message.Get(Field(message, field));

    public static bool Has(this DynamicMessage message, string field) => message.Has(Field(message, field));

    public static void Set(this DynamicMessage message, string field, object value) =>
        message.Set(Field(message, field), value);

    private static RpcFieldInfo Field(DynamicMessage message, string field) => message.Type.FindField(field)!;

    /// <summary>A chain of leaves, each the child of the one before: <paramref name="count"/> within the
    /// first.</summary>
    public static byte[] Nested(int count, byte tag = 0x12)
    {
        byte[] bytes = [];
        for (int i = 0; i < count; i++)
        {
            List<byte> outer = [tag];
            uint length = (uint)bytes.Length;
            for (; length >= 0x80; length >>= 7)
            {
                outer.Add((byte)(length | 0x80));
            }
            outer.Add((byte)length);
            bytes = [.. outer, .. bytes];
        }
        return bytes;
    }
}
