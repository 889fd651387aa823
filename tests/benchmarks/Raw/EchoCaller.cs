using System.Buffers.Binary;
using ProtoRpc.Benchmarks.Transport;

namespace ProtoRpc.Benchmarks.Raw;

/// <summary>Sends bytes over the raw layer and checks that the same ones came back: each call has a number
/// of its own in them, so that a reply that is lost or given to another caller shows.</summary>
internal sealed class EchoCaller : ICaller
{
    private static readonly Guid Interface = new("7d60a5a5-2c2c-4a0c-9d5e-6f3ac2bb8a02");

    private readonly RpcRawClient _client;
    private readonly byte[] _request;

    /// <param name="endpoint">Where the server is.</param>
    /// <param name="size">How many bytes to send, 16 or more.</param>
    public EchoCaller(string endpoint, int size)
    {
        _client = RpcRawClient.Connect(RpcEndpoint.Parse(endpoint), Interface);
        _request = new byte[size];
        Random.Shared.NextBytes(_request);
    }

    public void Call()
    {
        long number = BinaryPrimitives.ReadInt64LittleEndian(_request) + 1;
        BinaryPrimitives.WriteInt64LittleEndian(_request, number);
        BinaryPrimitives.WriteInt64LittleEndian(_request.AsSpan(_request.Length - sizeof(long)), number);
        if (!_client.Execute(_request).AsSpan().SequenceEqual(_request))
        {
            throw new InvalidOperationException("Other bytes came back than were sent.");
        }
    }

    public void Dispose() => _client.Dispose();

    /// <summary>The server of these callers.</summary>
    public static RpcRawServer Serve(string endpoint) => RpcRawServer.Create(Interface)
        .OnExecute((_, request) => request)
        .AddEndpoint(endpoint)
        .StartListening();
}
