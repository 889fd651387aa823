using System.Buffers;
using ProtoRpc.Client.Native;

namespace ProtoRpc.Tests.Transports;

/// <summary>Calls in one line.</summary>
internal static class ClientCalls
{
    public static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    public static byte[] Call(
        this NativeConnectionPool client, ReadOnlySpan<byte> request, TimeSpan? timeout = null)
    {
        using NativeClientCall exchange = client.Begin();
        exchange.Request.Write(request);
        Assert.Equal(0, exchange.Execute(timeout ?? Patience));
        return exchange.Reply.ToArray();
    }

    public static async Task<byte[]> CallAsync(
        this NativeConnectionPool client, byte[] request, TimeSpan? timeout = null)
    {
        using NativeClientCall exchange = client.Begin();
        exchange.Request.Write(request);
        Assert.Equal(0, await exchange.ExecuteAsync(timeout ?? Patience));
        return exchange.Reply.ToArray();
    }

    public static byte[] Bytes(int length)
    {
        byte[] bytes = new byte[length];
        new Random(length).NextBytes(bytes);
        return bytes;
    }
}
