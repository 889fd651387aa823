using System.Globalization;

namespace ProtoRpc.Benchmarks.Scale;

/// <summary>Servers and clients: endpoints, connections, calls, streams, sessions, headers, mocks and
/// recordings.</summary>
internal static class ServerSubjects
{
    private static readonly RpcLimits Many = RpcLimits.Default with
    {
        MaxConnections = 100_000,
        MaxConnectionsPerAddress = 100_000,
        MaxStreamsPerConnection = 100_000,
        MaxConcurrentCalls = 100_000,
        MaxSessions = 100_000,
        MaxSessionsPerCaller = 100_000,
        CallTimeout = Timeout.InfiniteTimeSpan,
    };

    public static IReadOnlyList<ScaleSubject> All { get; } =
    [
        new("call with headers", "headers", 12, 96, Headers),
        new("open and close endpoints", "endpoints", 32, 256, Endpoints),
        new("connect and close over TCP", "connections", 128, 1024, Connections),
        new("call at the same time", "calls", 1024, 8192, Calls),
        new("open and end streams over gRPC", "streams", 1024, 8192, Streams),
        new("begin and end sessions", "sessions", 512, 8192, Sessions),
        new("record and replay", "calls", 512, 4096, Recorded),
        new("answer from a mock", "replies", 512, 4096, Mocked),
    ];

    private static ScaleCase Headers(int headers)
    {
        (RpcServer server, RpcClient client) = Connect("inproc://scale-headers");
        RpcMetadata sent = new();
        for (int i = 0; i < headers; i++)
        {
            sent.Add($"header-{i}", "value");
        }

        DynamicMessage request = new(MessageSubjects.Part);
        RpcCallOptions options = new() { Headers = sent };
        return new(
            () =>
            {
                for (int i = 0; i < 100; i++)
                {
                    client.Invoke("Do", request, options);
                }
            },
            server, client);
    }

    private static ScaleCase Endpoints(int endpoints) => new(() =>
    {
        RpcServer server = Serve();
        for (int i = 0; i < endpoints; i++)
        {
            server.AddEndpoint("ncacn_ip_tcp:127.0.0.1[0]");
        }

        server.StartListening().Dispose();
    });

    private static ScaleCase Connections(int connections)
    {
        RpcServer server = Serve().AddEndpoint("ncacn_ip_tcp:127.0.0.1[0]");
        server.StartListening();
        return new(() => Array.ForEach(Open(), client => client.Dispose()), server)
        {
            HeldBytes = HeldBy(Open, connections),
        };

        RpcClient[] Open() => Enumerable.Range(0, connections).Select(_ =>
        {
            RpcClient client = RpcClient.Connect(server.Endpoints[0], MessageSubjects.Schema);
            client.Invoke("Do", new DynamicMessage(MessageSubjects.Part));
            return client;
        }).ToArray();
    }

    private static ScaleCase Calls(int calls)
    {
        TaskCompletionSource gate = new();
        RpcServer server = RpcServer.Create(MessageSubjects.Schema, null, new() { Limits = Many })
            .Handle("Do", async (_, request) =>
            {
                await Volatile.Read(ref gate).Task.ConfigureAwait(false);
                return request;
            })
            .AddEndpoint("inproc://scale-calls");
        server.StartListening();
        RpcClient client = RpcClient.Connect(
            server.Endpoints[0], MessageSubjects.Schema, new RpcClientOptions { Limits = Many });
        return new(() => End(Begin()), server, client)
        {
            HeldBytes = HeldBy(Begin, calls, End),
        };

        Task[] Begin()
        {
            Volatile.Write(ref gate, new TaskCompletionSource());
            return [.. Enumerable.Range(0, calls).Select(_ =>
                (Task)client.InvokeAsync("Do", new DynamicMessage(MessageSubjects.Part)))];
        }

        void End(Task[] begun)
        {
            gate.SetResult();
            Task.WaitAll(begun);
        }
    }

    private static ScaleCase Streams(int streams)
    {
        (RpcServer server, RpcClient client) = Connect("grpc://127.0.0.1:0");
        DynamicMessage message = new(MessageSubjects.Part);
        return new(() => EndAsync(BeginAsync().Result).Wait(), server, client)
        {
            HeldBytes = HeldBy(() => BeginAsync().Result, streams, begun => EndAsync(begun).Wait()),
        };

        async Task<List<RpcStreamingCall>> BeginAsync()
        {
            List<RpcStreamingCall> begun = [];
            for (int i = 0; i < streams; i++)
            {
                RpcStreamingCall call = await client.OpenAsync("Talk").ConfigureAwait(false);
                await call.SendAsync(message).ConfigureAwait(false);
                begun.Add(call);
            }

            foreach (RpcStreamingCall call in begun)
            {
                await call.ReadAsync().ConfigureAwait(false);
            }

            return begun;
        }

        static async Task EndAsync(List<RpcStreamingCall> begun)
        {
            foreach (RpcStreamingCall call in begun)
            {
                await call.CompleteAsync().ConfigureAwait(false);
                await call.DisposeAsync().ConfigureAwait(false);
            }
        }
    }

    private static ScaleCase Sessions(int sessions)
    {
        RpcServer server = RpcServer.Create(MessageSubjects.Schema, null, new() { Limits = Many })
            .Handle("Do", (context, request) =>
            {
                context.Session["n"] = 1;
                return new(request);
            })
            .AddEndpoint("inproc://scale-sessions");
        server.StartListening();
        return new(
            () => Array.ForEach(Begin(), client => client.Dispose()), server)
        {
            HeldBytes = HeldBy(Begin, sessions),
        };

        RpcClient[] Begin() => [.. Enumerable.Range(0, sessions).Select(_ =>
        {
            RpcClient client = RpcClient.Connect(server.Endpoints[0], MessageSubjects.Schema);
            client.Invoke("Do", new DynamicMessage(MessageSubjects.Part));
            return client;
        })];
    }

    private static ScaleCase Recorded(int calls)
    {
        TemporaryFile file = new();
        return new(
            () =>
            {
                File.Delete(file.Path);
                using (RpcCallRecorder recorder = new(file.Path))
                using (RpcServer server = RpcServer.Create(
                    MessageSubjects.Schema, null, new RpcServerOptions { Interceptors = [recorder] })
                    .HandleAll((_, request) => new(request))
                    .AddEndpoint("inproc://scale-record"))
                {
                    server.StartListening();
                    Call(server.Endpoints[0], calls);
                }

                using RpcMock mock = RpcMock.Create(MessageSubjects.Schema).Replay(file.Path);
            },
            file);
    }

    private static ScaleCase Mocked(int replies) => new(() =>
    {
        using RpcMock mock = RpcMock.Create(MessageSubjects.Schema);
        mock.Reply("Do", [.. Enumerable.Range(0, replies).Select(i => (object)new Dictionary<string, object?>
        {
            ["words"] = new[] { i.ToString(CultureInfo.InvariantCulture) },
        })]);
        mock.StartListening();
        Call(mock.Endpoint, replies);
    });

    private static void Call(RpcEndpoint endpoint, int calls)
    {
        using RpcClient client = RpcClient.Connect(endpoint, MessageSubjects.Schema);
        DynamicMessage request = new(MessageSubjects.Part);
        for (int i = 0; i < calls; i++)
        {
            client.Invoke("Do", request);
        }
    }

    private static RpcServer Serve() =>
        RpcServer.Create(MessageSubjects.Schema, null, new RpcServerOptions { Limits = Many }.WithHttp())
            .Handle("Do", (_, request) => new(request))
            .HandleStreaming("Talk", async (_, stream) =>
            {
                while (await stream.ReadAsync().ConfigureAwait(false) is { } message)
                {
                    await stream.WriteAsync(message).ConfigureAwait(false);
                }
            });

    private static (RpcServer Server, RpcClient Client) Connect(string endpoint)
    {
        RpcServer server = Serve().AddEndpoint(endpoint);
        server.StartListening();
        return (server, RpcClient.Connect(
            server.Endpoints[0], MessageSubjects.Schema, new RpcClientOptions { Limits = Many }));
    }

    // What so many of something hold while they are open.
    private static double HeldBy<T>(Func<T[]> open, int count)
        where T : IDisposable => HeldBy(open, count, opened => Array.ForEach(opened, one => one.Dispose()));

    private static double HeldBy<T>(Func<T> open, int count, Action<T> close)
    {
        close(open());
        long before = GC.GetTotalMemory(forceFullCollection: true);
        T opened = open();
        long held = GC.GetTotalMemory(forceFullCollection: true) - before;
        close(opened);
        return (double)held / count;
    }

    private sealed class TemporaryFile : IDisposable
    {
        private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("protorpc-scale");

        public string Path => System.IO.Path.Combine(_folder.FullName, "calls.jsonl");

        public void Dispose() => _folder.Delete(recursive: true);
    }
}
