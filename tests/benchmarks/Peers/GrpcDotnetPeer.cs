using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using Google.Protobuf;
using Grpc.Core;
using Grpc.Net.Client;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using ProtoRpc.Benchmarks.Messages;
using ProtoRpc.Benchmarks.Transport;

namespace ProtoRpc.Benchmarks.Peers;

/// <summary>grpc-dotnet as a peer of the benchmarks: asynchronous callers that share a channel, and a server
/// on Kestrel. It runs in this program, so it has the runtime and the settings of our own stacks;
/// docs/benchmarks/README.md says what a peer reads and prints.</summary>
internal static class GrpcDotnetPeer
{
    /// <summary>Its name, and the command that runs it.</summary>
    public const string Name = "grpc-dotnet";

    private const string UnixPrefix = "unix:";

    /// <summary>This program as that peer.</summary>
    public static PeerProgram Program { get; } =
        new(Name, "dotnet", typeof(GrpcDotnetPeer).Assembly.Location, Name);

    /// <summary>Runs a role.</summary>
    /// <returns>The exit code.</returns>
    public static async Task<int> RunAsync(string[] arguments)
    {
        switch (arguments)
        {
            case [WorkerRole.Server, string at, string records]:
                await ServeAsync(at, Number(records));
                return 0;
            case [WorkerRole.Client, string to, string records, string callers]:
                await CallAsync(to, Number(records), Number(callers));
                return 0;
            default:
                Console.Error.WriteLine(
                    $"{Name} server ADDRESS RECORDS | client ADDRESS RECORDS CALLERS");
                return 2;
        }
    }

    /// <summary>Opens a channel.</summary>
    /// <param name="address">HOST:PORT, or <c>unix:</c> and the path of a socket.</param>
    /// <param name="wrap">Replaces the stream of each connection; null for none.</param>
    public static GrpcChannel Open(string address, Func<Stream, Stream>? wrap = null)
    {
        SocketsHttpHandler handler = new() { UseProxy = false, EnableMultipleHttp2Connections = true };
        string? path = SocketOf(address);
        if (path is not null || wrap is not null)
        {
            handler.ConnectCallback = async (context, cancellation) =>
            {
                Socket socket = path is null
                    ? new(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true }
                    : new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
                await socket.ConnectAsync(
                    path is null ? context.DnsEndPoint : new UnixDomainSocketEndPoint(path), cancellation);
                NetworkStream stream = new(socket, ownsSocket: true);
                return wrap?.Invoke(stream) ?? stream;
            };
        }

        return GrpcChannel.ForAddress(
            $"http://{(path is null ? address : "localhost")}",
            new GrpcChannelOptions
            {
                HttpHandler = handler,
                DisposeHttpClient = true,
                MaxReceiveMessageSize = null,
            });
    }

    private static async Task ServeAsync(string address, int records)
    {
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.Services.AddGrpc(options => options.MaxReceiveMessageSize = null);
        builder.Services.AddSingleton(new Service(records));
        builder.WebHost.ConfigureKestrel(kestrel =>
        {
            static void Http2(ListenOptions listen) => listen.Protocols = HttpProtocols.Http2;
            if (SocketOf(address) is string socket)
            {
                kestrel.ListenUnixSocket(socket, Http2);
            }
            else
            {
                kestrel.Listen(IPEndPoint.Parse(address), Http2);
            }
        });
        await using WebApplication application = builder.Build();
        application.MapGrpcService<Service>();
        await application.StartAsync();
        string bound = SocketOf(address) is null ? new Uri(application.Urls.First()).Authority : address;
        Console.WriteLine($"ready {bound}");
        while (Console.ReadLine() is not null)
        {
            Console.WriteLine(string.Create(
                CultureInfo.InvariantCulture,
                $"{WorkerRole.Used} {Environment.CpuUsage.TotalTime.TotalMilliseconds:F3} {Allocated()}"));
        }

        await application.StopAsync();
    }

    private static async Task CallAsync(string address, int records, int callers)
    {
        using GrpcChannel channel = Open(address);
        SampleService.SampleServiceClient client = new(channel);
        Console.WriteLine("ready");
        while (Console.ReadLine() is string line)
        {
            double cpu = Environment.CpuUsage.TotalTime.TotalMilliseconds;
            long bytes = Allocated();
            long start = Stopwatch.GetTimestamp();
            long end = start + (Number(line) * Stopwatch.Frequency / 1000);
            List<double>[] times = await Task.WhenAll(Enumerable.Range(0, callers)
                .Select(_ => Task.Run(() => CallUntilAsync(client, records, end))));
            TimeSpan took = Stopwatch.GetElapsedTime(start);
            double[] all = [.. times.SelectMany(own => own).Order()];
            string rates = string.Join(',', times.Select(
                own => (own.Count * 1e6 / own.Sum()).ToString("F1", CultureInfo.InvariantCulture)));
            Console.WriteLine(string.Create(
                CultureInfo.InvariantCulture,
                $"done {all.Length} {took.TotalMilliseconds:F3} {rates} {Percentile(all, 0.5):F2} "
                + $"{Percentile(all, 0.99):F2} {Environment.CpuUsage.TotalTime.TotalMilliseconds - cpu:F3} "
                + $"{Allocated() - bytes}"));
        }
    }

    private static async Task<List<double>> CallUntilAsync(
        SampleService.SampleServiceClient client, int records, long end)
    {
        List<double> times = [];
        long now = Stopwatch.GetTimestamp();
        do
        {
            SampleRequest request = new();
            Fill(request.Data, records);
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

    // Records with new content.
    private static void Fill(ICollection<SampleProtoData> data, int records)
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

    private static int Number(string text) => int.Parse(text, CultureInfo.InvariantCulture);

    private static long Allocated() => GC.GetTotalAllocatedBytes(precise: true);

    private static double Percentile(double[] sorted, double share) => sorted[(int)(sorted.Length * share)];

    // The path of a Unix socket; null for TCP.
    private static string? SocketOf(string address) =>
        address.StartsWith(UnixPrefix, StringComparison.Ordinal) ? address[UnixPrefix.Length..] : null;

    private sealed class Service(int records) : SampleService.SampleServiceBase
    {
        public override Task<SampleResponse> Test(SampleRequest request, ServerCallContext context)
        {
            SampleResponse reply = new();
            Fill(reply.Data, records);
            return Task.FromResult(reply);
        }
    }
}
