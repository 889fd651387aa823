using System.Buffers.Binary;
using ProtoRpc.Benchmarks.Transport;

namespace ProtoRpc.Benchmarks.Orders;

/// <summary>Asks for orders over the raw layer: the transport is the same for all formats.</summary>
internal sealed class OrderCaller : ICaller
{
    private static readonly Guid Interface = new("7d60a5a5-2c2c-4a0c-9d5e-6f3ac2bb8a01");

    private readonly RpcRawClient _client;
    private readonly OrderFormat _format;
    private readonly int _count;

    /// <param name="endpoint">Where the server is.</param>
    /// <param name="format">How its orders are written.</param>
    /// <param name="count">How many to ask for.</param>
    public OrderCaller(string endpoint, OrderFormat format, int count)
    {
        _client = RpcRawClient.Connect(RpcEndpoint.Parse(endpoint), Interface);
        _format = format;
        _count = count;
    }

    public void Call()
    {
        Span<byte> request = stackalloc byte[sizeof(int)];
        BinaryPrimitives.WriteInt32LittleEndian(request, _count);
        int count = _format.Read(_client.Execute(request));
        if (count != _count)
        {
            throw new InvalidOperationException($"{count} orders came, and {_count} were asked for.");
        }
    }

    public void Dispose() => _client.Dispose();

    /// <summary>The server of these callers.</summary>
    public static RpcRawServer Serve(string endpoint, OrderFormat format) => RpcRawServer.Create(Interface)
        .OnExecute((_, request) => format.Write(BinaryPrimitives.ReadInt32LittleEndian(request)))
        .AddEndpoint(endpoint)
        .StartListening();
}
