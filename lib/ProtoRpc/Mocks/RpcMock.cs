using ProtoRpc.Mocks;
using ProtoRpc.Schema;
using ProtoRpc.Server;

namespace ProtoRpc;

/// <summary>A server for tests: it returns the given replies, or a valid template of the reply,
/// and records each call.</summary>
/// <remarks>A mock keeps the last <see cref="MaxCalls"/> calls with up to <see cref="MaxBytes"/> bytes of
/// messages. Replies can be replaced while it listens; running calls still get the previous ones.
/// Thread-safe.</remarks>
/// <example><code>
/// using RpcMock mock = RpcMock.Create(schema)
///     .Reply("Place", new { id = "o1", total = 2 })
///     .StartListening();
/// using RpcClient client = RpcClient.Connect(mock.Endpoint, schema);
/// client.Invoke("Place", new { order = new { id = "o1" } });
/// Assert.Single(mock.CallsOf("Place"));
/// </code></example>
public sealed class RpcMock : IDisposable, IAsyncDisposable
{
    /// <summary>The maximum number of calls that a mock keeps: 10,000. The oldest are dropped.</summary>
    public const int MaxCalls = 10_000;

    /// <summary>The maximum size of all messages that a mock keeps: 64 MiB. The oldest calls are
    /// dropped.</summary>
    public const int MaxBytes = 64 * 1024 * 1024;

    /// <summary>The maximum number of messages that a mock keeps of one call in each direction:
    /// 10,000.</summary>
    public const int MaxMessagesOfCall = 10_000;

    /// <summary>The maximum size of the messages that a mock keeps of one call in each direction: 16
    /// MiB.</summary>
    public const int MaxBytesOfCall = 16 * 1024 * 1024;

    private readonly MockLog _log;
    private readonly IReadOnlyList<MockMethod> _methods;
    private long _latency;
    private TimeSpan? _firstLatency;

    private RpcMock(RpcServer server, MockLog log)
    {
        Server = server;
        _log = log;
        _methods =
        [
            .. server.Services.SelectMany(service => service.Key.Methods)
                .Select(method => new MockMethod(this, method)),
        ];
        foreach (MockMethod method in _methods)
        {
            server.Handle(method.Info.FullName, method);
        }
    }

    /// <summary>The server, for endpoints and counters.</summary>
    public RpcServer Server { get; }

    /// <summary>The first endpoint. While the mock listens, the bound endpoint.</summary>
    public RpcEndpoint Endpoint => Server.Endpoints[0];

    /// <summary>The recorded calls, oldest first, including running ones.</summary>
    public IReadOnlyList<RpcRecordedCall> Calls => _log.Calls;

    /// <summary>The number of calls that were dropped, because of their number or size.</summary>
    public long DroppedCalls => _log.Dropped;

    /// <summary>The time that each call waits before its reply; initially zero. Cancelling the call ends the
    /// wait.</summary>
    public TimeSpan Latency
    {
        get => new(Volatile.Read(ref _latency));
        set
        {
            ArgumentOutOfRangeException.ThrowIfLessThan(value, TimeSpan.Zero);
            ArgumentOutOfRangeException.ThrowIfGreaterThan(value.TotalMilliseconds, int.MaxValue);
            Volatile.Write(ref _latency, value.Ticks);
        }
    }

    /// <summary>Creates a mock of services.</summary>
    /// <param name="schema">The schema that declares the services.</param>
    /// <param name="services">Their names; null for all services of the schema.</param>
    /// <param name="options">The options of the server; null for the defaults.</param>
    /// <exception cref="RpcException">NotFound: a service does not exist, or the schema has none.</exception>
    public static RpcMock Create(
        RpcSchema schema, IEnumerable<string>? services = null, RpcServerOptions? options = null)
    {
        ArgumentNullException.ThrowIfNull(schema);
        MockLog log = new();
        RpcServerOptions copy = (options ?? new RpcServerOptions()).Copy();
        RpcServer server = new(copy with
        {
            Interceptors = [log, .. copy.Interceptors],
            UsesOwnThreads = true,
        });
        RpcServiceInfo[] chosen =
            services is null ? [.. schema.Services] : [.. services.Select(schema.GetService).Distinct()];
        if (chosen.Length == 0)
        {
            throw new RpcException(RpcStatusCode.NotFound, "The schema declares no service.");
        }

        Array.ForEach(chosen, service => server.AddService(service));
        return new RpcMock(server, log);
    }

    /// <summary>Sets the replies of a method, one for each call; the last reply is repeated.</summary>
    /// <param name="method">The method's bare or full name.</param>
    /// <param name="replies">For each call: a message or an object with the reply's fields; for a stream of
    /// replies, a list of them, which may end with an exception; an exception with its details and trailers,
    /// to fail the call; or an <see cref="RpcMethodHandler"/>. For a stream of replies, an array or list of
    /// one message type, such as <c>new[] { a, b }</c>, is the stream of every call.</param>
    /// <exception cref="RpcException">NotFound: the method does not exist. InvalidArgument: a reply does not
    /// fit the method.</exception>
    public RpcMock Reply(string method, params IReadOnlyList<object> replies)
    {
        ArgumentNullException.ThrowIfNull(replies);
        IReadOnlyList<object> answers =
            Find(method).Info.IsServerStreaming && MockReplyReader.IsStream(replies) ? [replies] : replies;
        ReadReplies([(method, answers)], new MessageMapper { TakesRows = false })();
        return this;
    }

    /// <summary>Answers calls from a file that <see cref="RpcCallRecorder"/> wrote.</summary>
    /// <param name="path">The file.</param>
    /// <remarks>A call receives the recorded reply to the same requests. If there are several, they are used
    /// in order, and the last one is repeated. A call with other requests receives the next reply of its
    /// method in the order of the file, and the last one is repeated. Replies of <see cref="Reply(string,
    /// IReadOnlyList{object})"/> have priority.</remarks>
    /// <exception cref="RpcException">The file cannot be read, or a line is not a recorded call. The message
    /// has the file, line, column and reason.</exception>
    public RpcMock Replay(string path)
    {
        ArgumentException.ThrowIfNullOrEmpty(path);
        ReadReplay([path])();
        return this;
    }

    /// <summary>Adds an endpoint, before the mock listens.</summary>
    /// <exception cref="RpcException">InvalidArgument: the text is not an endpoint.</exception>
    public RpcMock AddEndpoint(string endpoint)
    {
        Server.AddEndpoint(endpoint);
        return this;
    }

    /// <summary>Starts to serve. Without an endpoint, uses an in-process endpoint (<c>inproc://</c>) with a
    /// unique name.</summary>
    /// <exception cref="RpcException">An endpoint cannot be bound; the message contains the
    /// reason.</exception>
    public RpcMock StartListening()
    {
        if (Server.Endpoints.Count == 0)
        {
            Server.AddEndpoint(NewEndpoint());
        }

        Server.StartListening();
        foreach (MockMethod method in _methods)
        {
            method.KeepFirst();
        }

        _firstLatency = Latency;
        return this;
    }

    /// <summary>The calls of a method, oldest first.</summary>
    /// <param name="method">The method's bare or full name.</param>
    /// <exception cref="RpcException">NotFound: the method does not exist.</exception>
    public IReadOnlyList<RpcRecordedCall> CallsOf(string method)
    {
        RpcMethodInfo info = Find(method).Info;
        return Calls.Where(call => call.Method == info).ToArray();
    }

    /// <summary>Clears the recorded calls, and restores the replies and the latency that the mock had when it
    /// started to listen, with lists of replies from their beginning.</summary>
    public void Reset()
    {
        _log.Clear();
        Latency = _firstLatency ?? Latency;
        foreach (MockMethod method in _methods)
        {
            method.Reset();
        }
    }

    /// <summary>Stops the mock with the limits' drain time.</summary>
    public void Dispose() => Server.Dispose();

    /// <summary>Stops the mock with the limits' drain time.</summary>
    public ValueTask DisposeAsync() => Server.DisposeAsync();

    /// <summary>An in-process endpoint with a unique name.</summary>
    internal static string NewEndpoint() => $"inproc://mock-{Guid.NewGuid():N}";

    /// <summary>Reads recorded calls of several files, as if they were in one file.</summary>
    /// <returns>Sets the replies; cannot fail.</returns>
    internal Action ReadReplay(IEnumerable<string> paths)
    {
        RpcMethodInfo[] methods = [.. Methods];
        ILookup<RpcMethodInfo, ReplayedCall> calls =
            paths.SelectMany(path => ReplayFile.Read(path, methods)).ToLookup(call => call.Method);
        List<(MockMethod Method, ReplayedReplies Answers)> read =
        [
            .. _methods.Where(method => calls.Contains(method.Info))
                .Select(method => (method, new ReplayedReplies([.. calls[method.Info]]))),
        ];
        return () => read.ForEach(one => one.Method.Replayed = one.Answers);
    }

    /// <summary>Reads the replies of several methods, given as objects of a host.</summary>
    /// <returns>Sets the replies; cannot fail.</returns>
    internal Action ReadReplies(
        IEnumerable<(string Method, IReadOnlyList<object> Replies)> replies, MessageMapper mapper)
    {
        List<(MockMethod Method, MockReplies Answers)> read = [];
        foreach ((string name, IReadOnlyList<object> given) in replies)
        {
            MockMethod method = Find(name);
            read.Add((method, new MockReplyReader(mapper).Read(method.Info, given)));
        }

        return () => read.ForEach(one => one.Method.Given = one.Answers);
    }

    /// <summary>The methods, ordered by service.</summary>
    internal IEnumerable<RpcMethodInfo> Methods => _methods.Select(method => method.Info);

    /// <summary>Finds a method of the mock.</summary>
    internal RpcMethodInfo FindMethod(string name) => Find(name).Info;

    /// <summary>Waits for the latency.</summary>
    internal ValueTask WaitAsync(RpcServerCallContext context) => Latency is { Ticks: > 0 } latency
        ? new ValueTask(Task.Delay(latency, context.CancellationToken))
        : default;

    private MockMethod Find(string name)
    {
        ArgumentNullException.ThrowIfNull(name);
        MockMethod[] found = [.. _methods.Where(method => Matches(method.Info, name))];
        return found.Length switch
        {
            1 => found[0],
            0 => throw SchemaError.NameNotFound(
                "method", name, [.. _methods.Select(method => method.Info.FullName)]),
            _ => throw SchemaError.Ambiguous("method", name, found.Select(method => method.Info.FullName)),
        };
    }

    private static bool Matches(RpcMethodInfo method, string name) =>
        name.Equals(method.Name, StringComparison.OrdinalIgnoreCase)
        || name.Equals(method.FullName, StringComparison.OrdinalIgnoreCase)
        || name.Equals($"{method.Service.Name}/{method.Name}", StringComparison.OrdinalIgnoreCase);
}

/// <summary>The calls that a mock received, up to a limit. The oldest calls are dropped.</summary>
internal sealed class MockLog : CallCapture
{
    private static readonly RecordingLimits Limits = new(RpcMock.MaxMessagesOfCall, RpcMock.MaxBytesOfCall);

    private readonly Lock _gate = new();
    private readonly LinkedList<RpcRecordedCall> _calls = [];
    private readonly Dictionary<RpcRecordedCall, int> _kept = [];
    private long _bytes;
    private long _dropped;

    public IReadOnlyList<RpcRecordedCall> Calls
    {
        get
        {
            lock (_gate)
            {
                // An array, because PowerShell cannot index the list type of a collection expression.
                return _calls.ToArray();
            }
        }
    }

    public long Dropped => Volatile.Read(ref _dropped);

    public void Clear()
    {
        lock (_gate)
        {
            _calls.Clear();
            _kept.Clear();
            _bytes = 0;
            _dropped = 0;
        }
    }

    protected override RpcRecordedCall Begin(RpcServerCallContext context)
    {
        RpcRecordedCall call = new(context, HeadersOf(context), Limits);
        lock (_gate)
        {
            // Recorded before the reply, so that calls of clients that disconnect early are included.
            _calls.AddLast(call);
            _kept.Add(call, 0);
            MakeRoom();
        }

        return call;
    }

    protected override void End(RpcRecordedCall call)
    {
        lock (_gate)
        {
            // The call was dropped while it ran, so its bytes are not counted.
            if (_kept.ContainsKey(call))
            {
                _kept[call] = call.Bytes;
                _bytes += call.Bytes;
                MakeRoom();
            }
        }
    }

    private void MakeRoom()
    {
        while (_calls.Count > RpcMock.MaxCalls || (_bytes > RpcMock.MaxBytes && _calls.Count > 1))
        {
            RpcRecordedCall oldest = _calls.First!.Value;
            _calls.RemoveFirst();
            _kept.Remove(oldest, out int bytes);
            _bytes -= bytes;
            _dropped++;
        }
    }
}

/// <summary>A method of a mock. Its replies can be replaced while the server listens.</summary>
/// <param name="mock">The mock.</param>
/// <param name="info">The method.</param>
internal sealed class MockMethod(RpcMock mock, RpcMethodInfo info) : RpcMethodHandler
{
    private readonly TemplateReplies _template = new(info);
    private volatile MockReplies? _given;
    private volatile MockReplies? _replayed;
    private (MockReplies? Given, MockReplies? Replayed)? _first;

    public RpcMethodInfo Info => info;

    /// <summary>The replies of the test; null for none.</summary>
    public MockReplies? Given
    {
        get => _given;
        set => _given = value;
    }

    /// <summary>The replies of a recording; null for none. The replies of the test have priority.</summary>
    public MockReplies? Replayed
    {
        get => _replayed;
        set => _replayed = value;
    }

    /// <summary>Stores the replies for <see cref="Reset"/>.</summary>
    public void KeepFirst() => _first = (_given, _replayed);

    /// <summary>Restores the stored replies, beginning with the first one.</summary>
    public void Reset()
    {
        if (_first is { } first)
        {
            (_given, _replayed) = first;
        }

        _given?.Reset();
        _replayed?.Reset();
    }

    internal override ServerMethod Bind(RpcMethodInfo method) =>
        new(method, AnswerAsync, AnswerStreamAsync) { GivesBytes = true };

    private MockReplies Answers => _given ?? _replayed ?? _template;

    private async ValueTask<IMessage> AnswerAsync(RpcServerCallContext context, IMessage request)
    {
        // Chosen before waiting, so that replies are used in the order of the calls.
        MockReply answer = Answers.Next(request);
        await mock.WaitAsync(context).ConfigureAwait(false);
        return await answer.AnswerAsync(context, request).ConfigureAwait(false);
    }

    private async ValueTask AnswerStreamAsync(RpcServerCallContext context, RpcServerStream stream)
    {
        MockReplies answers = Answers;
        MockReply answer;
        if (!info.IsClientStreaming)
        {
            answer = answers.Next(await stream.PeekAsync().ConfigureAwait(false));
        }
        else if (answers.NeedsRequests && !info.IsServerStreaming)
        {
            List<IMessage> requests = [];
            while (await stream.ReadAsync().ConfigureAwait(false) is { } request)
            {
                requests.Add(request);
            }

            answer = answers.Next(requests);
        }
        else
        {
            answer = answers.Next((IMessage?)null);
        }

        await mock.WaitAsync(context).ConfigureAwait(false);
        await answer.AnswerAsync(context, stream).ConfigureAwait(false);
    }
}
