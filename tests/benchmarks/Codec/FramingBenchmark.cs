using System.Buffers;
using System.Buffers.Binary;
using System.Globalization;
using Google.Protobuf;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Protocols.Grpc;

namespace ProtoRpc.Benchmarks.Codec;

/// <summary>The framing of a request and its reply on both sides, from memory to memory, against a length
/// before the bytes.</summary>
internal static class FramingBenchmark
{
    private const int LengthPrefix = sizeof(int);
    private static readonly Guid Interface = new("5f2bb7a3-0bd5-4c8a-8a55-9ad3b51c8f0e");

    /// <summary>Measures payloads of 0, 100 and 1000 records.</summary>
    public static MicroGroup Measure(BenchmarkOptions options) => new(
        "Framing of a request and its reply",
        ["length and bytes", "native", "gRPC"],
        [
            .. options.RecordsOr(0, 100, 1000).Select(records =>
            {
                byte[] payload = SampleData.Request(records).ToByteArray();
                using NativeClientCall native = new();
                byte[] near = new byte[payload.Length + GrpcFraming.PrefixLength];
                byte[] far = new byte[payload.Length + GrpcFraming.PrefixLength];
                return (
                    string.Create(CultureInfo.InvariantCulture, $"{payload.Length:N0} bytes each way"),
                    MicroRace.Run(
                        options,
                        () => BothWays(CopyBehindLength),
                        () => native.Call(payload),
                        () => BothWays(CopyAsGrpcFrame)));

                void BothWays(Action<byte[], byte[], byte[]> copy)
                {
                    copy(payload, near, far);
                    copy(payload, near, far);
                }
            }),
        ]);

    private static void CopyBehindLength(byte[] payload, byte[] near, byte[] far)
    {
        BinaryPrimitives.WriteInt32LittleEndian(near, payload.Length);
        payload.CopyTo(near, LengthPrefix);
        near.CopyTo(far, 0);
        Check(BinaryPrimitives.ReadInt32LittleEndian(far) == payload.Length);
    }

    private static void CopyAsGrpcFrame(byte[] payload, byte[] near, byte[] far)
    {
        GrpcFraming.WritePrefix(near, flags: 0, payload.Length);
        payload.CopyTo(near, GrpcFraming.PrefixLength);
        near.CopyTo(far, 0);
        ReadOnlySequence<byte> received = new(far);
        Check(GrpcFraming.TryRead(ref received, payload.Length, out GrpcFrame frame)
            && frame.Body.Length == payload.Length);
    }

    private static void Check(bool isWhole)
    {
        if (!isWhole)
        {
            throw new InvalidDataException("Other bytes came out of the framing than went in.");
        }
    }

    // A client and a server whose bytes go from one's memory to the other's.
    private sealed class NativeClientCall : IDisposable
    {
        private readonly ClientAssociation _client =
            new(RpcEndpoint.Parse("ncacn_ip_tcp:127.0.0.1[1]"), Interface, RpcLimits.Default);

        private readonly ServerAssociation _server = new(RpcLimits.Default, "1", id => id == Interface);

        private readonly PooledMessageBytes _request =
            new(
                RpcLimits.Default.MaxMessageBytes, "request", ClientAssociation.RequestPrefix,
                ClientAssociation.RequestSuffix);

        // Made once, so that a call allocates only what the framing does.
        private readonly Func<Memory<byte>> _freeOfClient;
        private readonly Action<int> _advanceClient;
        private readonly Func<Memory<byte>> _freeOfServer;
        private readonly Action<int> _advanceServer;

        public NativeClientCall()
        {
            (_freeOfClient, _advanceClient) = (_client.GetFreeMemory, _client.Advance);
            (_freeOfServer, _advanceServer) = (_server.GetFreeMemory, _server.Advance);
            Receive(_client.Bind(0), _freeOfServer, _advanceServer);
            Check(_server.Step() == ServerStep.Send);
            Answer();
            Check(_client.Step() == ClientStep.Bound);
        }

        public void Call(byte[] payload)
        {
            _request.Reset();
            _request.Write(payload);
            _client.BeginCall(_request);
            while (_client.TryTakeOutput(out ReadOnlyMemory<byte> sent))
            {
                Receive(sent, _freeOfServer, _advanceServer);
            }

            Check(_server.Step() == ServerStep.Call && _server.Request.Length == payload.Length);
            _server.Reply.Write(payload);
            _server.CompleteCall(0);
            Answer();
            Check(_client.Step() == ClientStep.Reply && _client.Reply.Length == payload.Length);
        }

        public void Dispose()
        {
            _client.Dispose();
            _server.Dispose();
            _request.Dispose();
        }

        private void Answer()
        {
            while (_server.TryTakeOutput(out ReadOnlyMemory<byte> sent))
            {
                Receive(sent, _freeOfClient, _advanceClient);
            }

            _server.EndCall();
        }

        private static void Receive(ReadOnlyMemory<byte> sent, Func<Memory<byte>> free, Action<int> advance)
        {
            while (!sent.IsEmpty)
            {
                Memory<byte> target = free();
                int count = Math.Min(target.Length, sent.Length);
                sent[..count].CopyTo(target);
                advance(count);
                sent = sent[count..];
            }
        }
    }
}
