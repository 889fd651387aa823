using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;

namespace ProtoRpc.Benchmarks.Transfer;

/// <summary>Sends one message of a GiB in parts over TCP, and the same number
/// of bytes through a bare socket: to nowhere, and to a file, which is where a listener keeps a message
/// that is too large for memory.</summary>
/// <remarks>Client and server share this process, so the managed memory
/// that is told is that of both.</remarks>
internal static class TransferBenchmark
{
    private const int Bytes = 1 << 30;
    private const int Rounds = 5;
    private const int SocketBuffer = 64 * 1024;

    // Parts that stay in the processor's cache; fragments as large as the protocol has them.
    private const int PartBytes = 256 * 1024;
    private const double Least = 1.0 / 3;
    private const long MostManagedBytes = 256L << 20;

    public static int Run()
    {
        Action[] transfers =
            [() => CopyThroughSocket(toFile: false), () => CopyThroughSocket(toFile: true), SendInParts];
        double[][] rates = [new double[Rounds], new double[Rounds], new double[Rounds]];
        long[] managed = new long[transfers.Length];

        // The first round warms up.
        for (int round = -1; round < Rounds; round++)
        {
            for (int i = 0; i < transfers.Length; i++)
            {
                (double rate, long bytes) = Measure(transfers[i]);
                managed[i] = Math.Max(managed[i], bytes);
                if (round >= 0)
                {
                    rates[i][round] = rate;
                }
            }
        }

        Console.WriteLine(
            $"One message of a GiB over TCP, {Rounds} rounds in turns after one to warm up, medians");
        ResultTable table = new("what".PadRight("socket to file".Length), "MiB/s", "managed MiB");
        string[] names = ["socket", "socket to file", "in parts"];
        for (int i = 0; i < names.Length; i++)
        {
            table.Row(
                names[i],
                ResultTable.Rate(Median(rates[i])),
                ResultTable.Rate(managed[i] / (double)(1 << 20)));
        }

        double ratio = Median([.. rates[2].Zip(rates[1], (parts, copy) => parts / copy)]);
        Console.WriteLine(string.Create(
            CultureInfo.InvariantCulture, $"in parts / socket to file: {ratio:F2} (at least {Least:F2})"));
        return ratio >= Least && managed[2] < MostManagedBytes ? 0 : 1;
    }

    private static (double MebibytesPerSecond, long Managed) Measure(Action transfer)
    {
        using PeakMemory memory = new();
        long start = Stopwatch.GetTimestamp();
        transfer();
        double seconds = Stopwatch.GetElapsedTime(start).TotalSeconds;
        return (Bytes / seconds / (1 << 20), memory.Stop());
    }

    private static double Median(double[] values)
    {
        double[] sorted = [.. values.Order()];
        return sorted[sorted.Length / 2];
    }

    private static void CopyThroughSocket(bool toFile)
    {
        using Socket listener = new(SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen();
        Thread reader = new(() => Drain(listener, toFile));
        reader.Start();
        using Socket sender = new(SocketType.Stream, ProtocolType.Tcp);
        sender.Connect(listener.LocalEndPoint!);
        byte[] buffer = new byte[SocketBuffer];
        for (long sent = 0; sent < Bytes; sent += buffer.Length)
        {
            sender.Send(buffer);
        }

        sender.Shutdown(SocketShutdown.Send);
        reader.Join();
    }

    private static void Drain(Socket listener, bool toFile)
    {
        using Socket socket = listener.Accept();
        using FileStream? file = toFile ? TemporaryFile() : null;
        byte[] buffer = new byte[SocketBuffer];
        int count;
        while ((count = socket.Receive(buffer)) > 0)
        {
            file?.Write(buffer.AsSpan(0, count));
        }
    }

    private static FileStream TemporaryFile() => new(
        Path.Combine(Path.GetTempPath(), $"protorpc-{Guid.NewGuid():N}.copy"),
        FileMode.CreateNew,
        FileAccess.Write,
        FileShare.None,
        bufferSize: 0,
        FileOptions.DeleteOnClose);

    private static void SendInParts()
    {
        RpcSchema schema = SampleData.LoadSchema();
        RpcMethodInfo method = schema.Services[0].Methods[0];
        long received = 0;
        RpcLimits limits = new() { MaxFragmentBytes = ushort.MaxValue };
        using RpcServer server = RpcServer.Create(schema, method.Service.FullName, new() { Limits = limits })
            .HandleBody(method.Name, (_, body) =>
            {
                byte[] buffer = new byte[SocketBuffer];
                int count;
                while ((count = body.Read(buffer)) > 0)
                {
                    received += count;
                }

                return ValueTask.FromResult<Google.Protobuf.IMessage>(new DynamicMessage(method.ReplyType));
            })
            .AddEndpoint(RpcEndpoint.Tcp("127.0.0.1", 0))
            .StartListening();
        RpcClientOptions options = new() { Limits = limits with { MultiPartThreshold = PartBytes } };
        using RpcClient client = RpcClient.Connect(server.Endpoints[0], schema, options);

        client.Upload(method, new EmptyBytes(Bytes), new() { Timeout = Timeout.InfiniteTimeSpan });

        if (received != Bytes)
        {
            throw new InvalidOperationException($"{received} bytes came, and {Bytes} were sent.");
        }
    }
}
