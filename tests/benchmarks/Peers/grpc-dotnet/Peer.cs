// grpc-dotnet as a peer of the benchmarks: asynchronous callers that share a channel, and a server on
// Kestrel. docs/benchmarks/README.md says what a peer reads and prints.
using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using Google.Protobuf;
using Grpc.Core;
using Grpc.Net.Client;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using ProtoRpc.Benchmarks.Messages;

CultureInfo.DefaultThreadCurrentCulture = CultureInfo.CurrentCulture = CultureInfo.InvariantCulture;
if (args is ["server", string at, string size])
{
    await ServeAsync(at, int.Parse(size));
    return 0;
}

if (args is ["client", string to, string count, string callers])
{
    await CallAsync(to, int.Parse(count), int.Parse(callers));
    return 0;
}

Console.Error.WriteLine("peer server ADDRESS RECORDS | client ADDRESS RECORDS CALLERS");
return 2;

static string Used() =>
    $"{Environment.CpuUsage.TotalTime.TotalMilliseconds:F3} {GC.GetTotalAllocatedBytes(precise: true)}";

static async Task ServeAsync(string address, int records)
{
    WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
    builder.Logging.ClearProviders();
    builder.Services.AddGrpc(options => options.MaxReceiveMessageSize = null);
    builder.Services.AddSingleton(new RecordCount(records));
    builder.WebHost.ConfigureKestrel(kestrel =>
    {
        static void Http2(ListenOptions listen) => listen.Protocols = HttpProtocols.Http2;
        if (Addresses.SocketOf(address) is string socket)
        {
            kestrel.ListenUnixSocket(socket, Http2);
        }
        else
        {
            kestrel.Listen(IPEndPoint.Parse(address), Http2);
        }
    });
    WebApplication app = builder.Build();
    app.MapGrpcService<Service>();
    await app.StartAsync();
    string bound = app.Services.GetRequiredService<IServer>()
        .Features.Get<IServerAddressesFeature>()!.Addresses.First();
    Console.WriteLine($"ready {(Addresses.SocketOf(address) is null ? new Uri(bound).Authority : address)}");
    while (Console.ReadLine() is not null)
    {
        Console.WriteLine($"used {Used()}");
    }

    await app.StopAsync();
}

static async Task CallAsync(string address, int records, int count)
{
    SocketsHttpHandler handler = new() { EnableMultipleHttp2Connections = true };
    if (Addresses.SocketOf(address) is string path)
    {
        handler.ConnectCallback = async (_, cancellation) =>
        {
            Socket socket = new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
            await socket.ConnectAsync(new UnixDomainSocketEndPoint(path), cancellation);
            return new NetworkStream(socket, ownsSocket: true);
        };
    }

    using GrpcChannel channel = GrpcChannel.ForAddress(
        $"http://{(Addresses.SocketOf(address) is null ? address : "localhost")}",
        new GrpcChannelOptions { HttpHandler = handler, MaxReceiveMessageSize = null });
    SampleService.SampleServiceClient client = new(channel);
    Console.WriteLine("ready");
    while (Console.ReadLine() is string line)
    {
        double cpu = Environment.CpuUsage.TotalTime.TotalMilliseconds;
        long bytes = GC.GetTotalAllocatedBytes(precise: true);
        long start = Stopwatch.GetTimestamp();
        long end = start + (long.Parse(line) * Stopwatch.Frequency / 1000);
        List<double>[] times =
            await Task.WhenAll(Enumerable.Range(0, count).Select(_ => Task.Run(() => CallUntilAsync(end))));
        TimeSpan took = Stopwatch.GetElapsedTime(start);
        double[] all = [.. times.SelectMany(own => own).Order()];
        string rates = string.Join(',', times.Select(own => $"{own.Count * 1e6 / own.Sum():F1}"));
        Console.WriteLine(
            $"done {all.Length} {took.TotalMilliseconds:F3} {rates} {Percentile(all, 0.5):F2} "
            + $"{Percentile(all, 0.99):F2} {Environment.CpuUsage.TotalTime.TotalMilliseconds - cpu:F3} "
            + $"{GC.GetTotalAllocatedBytes(precise: true) - bytes}");
    }

    async Task<List<double>> CallUntilAsync(long end)
    {
        List<double> times = [];
        long now = Stopwatch.GetTimestamp();
        do
        {
            SampleRequest request = new();
            Records.Fill(request.Data, records);
            SampleResponse reply = await client.TestAsync(request);
            if (reply.Data.Count != records)
            {
                throw new InvalidDataException($"The reply has {reply.Data.Count} records, not {records}.");
            }

            long next = Stopwatch.GetTimestamp();
            times.Add((next - now) * 1e6 / Stopwatch.Frequency);
            now = next;
        }
        while (now < end);
        return times;
    }

    static double Percentile(double[] sorted, double share) => sorted[(int)(sorted.Length * share)];
}

internal static class Addresses
{
    /// <summary>The path of a Unix socket; null for TCP.</summary>
    public static string? SocketOf(string address) =>
        address.StartsWith("unix:", StringComparison.Ordinal) ? address["unix:".Length..] : null;
}

internal static class Records
{
    /// <summary>Adds records with new content.</summary>
    public static void Fill(ICollection<SampleProtoData> data, int records)
    {
        for (int i = 0; i < records; i++)
        {
            byte[] bytes = new byte[32];
            Random.Shared.NextBytes(bytes);
            data.Add(new SampleProtoData
            {
                Bytes = UnsafeByteOperations.UnsafeWrap(bytes),
                Text = Convert.ToBase64String(bytes),
                Number = i,
                Float = i * 1.5,
                Time = DateTime.UtcNow.Ticks,
            });
        }
    }
}

internal sealed record RecordCount(int Value);

internal sealed class Service(RecordCount records) : SampleService.SampleServiceBase
{
    public override Task<SampleResponse> Test(SampleRequest request, ServerCallContext context)
    {
        SampleResponse reply = new();
        Records.Fill(reply.Data, records.Value);
        return Task.FromResult(reply);
    }
}
