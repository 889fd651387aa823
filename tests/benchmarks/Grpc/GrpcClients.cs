using System.Globalization;
using System.Net.Sockets;
using Grpc.Net.Client;
using ProtoRpc.Benchmarks.Messages;
using ProtoRpc.Benchmarks.Peers;

namespace ProtoRpc.Benchmarks.Grpc;

/// <summary>Our client for gRPC and Grpc.Net.Client, in turns against the same server in this
/// process.</summary>
internal static class GrpcClients
{
    /// <summary>Measures both at an endpoint of Benchmark.SampleService.</summary>
    public static void Run(RpcEndpoint endpoint, RpcSchema schema, BenchmarkOptions options)
    {
        ResultTable table = new(
            "records", "Grpc.Net.Client/s", "ProtoRpc/s", "of Grpc.Net.Client",
            "bytes allocated a call", "ours", "bytes sent a call", "ours");
        foreach (int records in options.RecordsOr(0))
        {
            Measure(endpoint, schema, SampleData.Request(records), records, options, table);
        }
    }

    private static void Measure(
        RpcEndpoint endpoint, RpcSchema schema, SampleRequest request, int records, BenchmarkOptions options,
        ResultTable table)
    {
        using GrpcChannel channel = GrpcDotnetPeer.Open($"{endpoint.Host}:{endpoint.Port}");
        using RpcClient client = RpcClient.Connect(endpoint, schema);
        Func<Task> theirs = CallOf(channel, request);
        Func<Task> ours = CallOf(client, request);
        CallMeter.Rate(theirs, options.Callers, options.WarmUp);
        CallMeter.Rate(ours, options.Callers, options.WarmUp);
        List<(double Theirs, double Ours)> rounds = [];
        for (int i = 0; i < options.Rounds; i++)
        {
            rounds.Add((
                CallMeter.Rate(theirs, options.Callers, options.Round),
                CallMeter.Rate(ours, options.Callers, options.Round)));
        }

        (long theirSent, long ourSent) = CountSent(endpoint, schema, request);
        table.Row(
            records.ToString(CultureInfo.InvariantCulture),
            ResultTable.Rate(ResultTable.Median(rounds.Select(round => round.Theirs))),
            ResultTable.Rate(ResultTable.Median(rounds.Select(round => round.Ours))),
            ResultTable.Median(rounds.Select(round => round.Ours / round.Theirs))
                .ToString("P0", CultureInfo.InvariantCulture),
            ResultTable.Rate(CallMeter.Allocated(theirs)),
            ResultTable.Rate(CallMeter.Allocated(ours)),
            ResultTable.Rate(theirSent),
            ResultTable.Rate(ourSent));
    }

    private static Func<Task> CallOf(GrpcChannel channel, SampleRequest request)
    {
        SampleService.SampleServiceClient stub = new(channel);
        return async () => await stub.TestAsync(request);
    }

    private static Func<Task> CallOf(RpcClient client, SampleRequest request)
    {
        RpcMethodInfo method = client.GetMethod("Test");
        return () => client.InvokeAsync<SampleResponse>(method, request);
    }

    // After the first calls, whose headers fill the table of HPACK.
    private static (long Theirs, long Ours) CountSent(
        RpcEndpoint endpoint, RpcSchema schema, SampleRequest request)
    {
        SentBytes theirs = new();
        SentBytes ours = new();
        using GrpcChannel channel = GrpcDotnetPeer.Open(
            $"{endpoint.Host}:{endpoint.Port}", stream => new CountingStream(stream, theirs));
        using RpcClient client = RpcClient.Connect(endpoint, schema, new()
        {
            HttpHandler = () => new SocketsHttpHandler
            {
                UseProxy = false,
                ConnectCallback = async (context, cancellation) =>
                {
                    Socket socket = new(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
                    await socket.ConnectAsync(context.DnsEndPoint, cancellation);
                    return new CountingStream(new NetworkStream(socket, ownsSocket: true), ours);
                },
            },
        });
        return (Count(CallOf(channel, request), theirs), Count(CallOf(client, request), ours));
    }

    private static long Count(Func<Task> call, SentBytes sent)
    {
        CallMeter.Repeat(call);
        long before = Interlocked.Read(ref sent.Count);
        CallMeter.Repeat(call);
        return (Interlocked.Read(ref sent.Count) - before) / CallMeter.CountedCalls;
    }

    private sealed class SentBytes
    {
        public long Count;
    }

    private sealed class CountingStream(Stream inner, SentBytes sent) : Stream
    {
        public override bool CanRead => true;

        public override bool CanSeek => false;

        public override bool CanWrite => true;

        public override long Length => throw new NotSupportedException();

        public override long Position
        {
            get => throw new NotSupportedException();
            set => throw new NotSupportedException();
        }

        public override void Flush() => inner.Flush();

        public override Task FlushAsync(CancellationToken cancellationToken) =>
            inner.FlushAsync(cancellationToken);

        public override int Read(byte[] buffer, int offset, int count) => inner.Read(buffer, offset, count);

        public override ValueTask<int> ReadAsync(
            Memory<byte> buffer, CancellationToken cancellationToken = default) =>
            inner.ReadAsync(buffer, cancellationToken);

        public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

        public override void SetLength(long value) => throw new NotSupportedException();

        public override void Write(byte[] buffer, int offset, int count)
        {
            Interlocked.Add(ref sent.Count, count);
            inner.Write(buffer, offset, count);
        }

        public override ValueTask WriteAsync(
            ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
        {
            Interlocked.Add(ref sent.Count, buffer.Length);
            return inner.WriteAsync(buffer, cancellationToken);
        }

        protected override void Dispose(bool disposing)
        {
            if (disposing)
            {
                inner.Dispose();
            }

            base.Dispose(disposing);
        }
    }
}
