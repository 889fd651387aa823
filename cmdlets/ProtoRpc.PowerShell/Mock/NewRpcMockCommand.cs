using Google.Protobuf;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Connections;
using ProtoRpc.PowerShell.Handlers;
using ProtoRpc.PowerShell.Objects;
using ProtoRpc.PowerShell.Parameters;
using ErrorDetails = ProtoRpc.PowerShell.Handlers.ErrorDetails;

namespace ProtoRpc;

/// <summary>The base of cmdlets that set the replies of a mock.</summary>
public abstract class RpcMockSetupCommand : RpcHandlersCommand
{
    private protected RpcMockSetupCommand()
    {
    }

    [Parameter]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(HandlerCompleter))]
    public IDictionary? Reply { get; set; }

    [Parameter]
    [ValidateNotNullOrEmpty]
    public string? Replay { get; set; }

    [Parameter]
    [LimitsTable]
    [ArgumentCompleter(typeof(LimitsCompleter))]
    public RpcLimits Limits { get; set; } = RpcLimits.Default;

    [Parameter]
    [Deadline(AllowZero = true)]
    public TimeSpan? Latency { get; set; }

    /// <summary>Reads the given replies. The mock does not change yet.</summary>
    /// <exception cref="RpcException">A method does not exist, a reply does not fit its type, or the file of
    /// -Replay cannot be played back.</exception>
    private protected MockSetup ReadSetup(
        RpcMock mock, HandlerEnvironment environment, HandlerPool pool)
    {
        if (Latency == Timeout.InfiniteTimeSpan || Latency?.TotalMilliseconds > int.MaxValue)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidHandler,
                $"-Latency {Latency} is out of range; the longest latency is "
                + $"{TimeSpan.FromMilliseconds(int.MaxValue).TotalDays:0} days.");
        }

        MockReplyValue values = new(new HandlerValue(environment, pool));
        List<(string Method, IReadOnlyList<object> Replies)> replies = [];
        foreach (DictionaryEntry entry in Reply ?? new Hashtable())
        {
            RpcMethodInfo method = mock.FindMethod(LanguagePrimitives.ConvertTo<string>(entry.Key));
            if (replies.Exists(other => other.Method == method.FullName))
            {
                throw HandlerValue.Invalid($"-Reply has {method.FullName} twice.");
            }

            replies.Add((method.FullName, values.ToReplies(method, entry.Value)));
        }

        Action reply = mock.ReadReplies(replies, ShellMapper.Create(asHashtable: false));
        Action? replay = Replay is null ? null : mock.ReadReplay([ResolveLiteral(Replay)]);
        return new MockSetup(
            [.. replies.Select(one => one.Method)],
            () =>
            {
                reply();
                replay?.Invoke();
                mock.Latency = Latency ?? mock.Latency;
            });
    }
}

[Cmdlet(VerbsCommon.New, "RpcMock", SupportsShouldProcess = true)]
[OutputType(typeof(RpcMockListener))]
public sealed class NewRpcMockCommand : RpcMockSetupCommand
{
    [Parameter(Mandatory = true, Position = 0)]
    [SchemaList]
    [ArgumentCompleter(typeof(SchemaFileCompleter))]
    public RpcSchemaSource Schema { get; set; } = null!;

    [Parameter]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(ServiceCompleter))]
    public string[] Service { get; set; } = [];

    [Parameter]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(ListenerEndpointCompleter))]
    public string[] Endpoint { get; set; } = [];

    protected override void Begin()
    {
        try
        {
            ListenerSettings.CheckMock(Option);
            RequireImpersonation();
            Start(Resolve(Schema));
        }
        catch (RpcException e)
        {
            // A terminating error, because the test cannot continue without a mock.
            Fail(e);
        }
    }

    private void Start(RpcSchema schema)
    {
        string[] endpoints = Endpoint.Length > 0 ? Endpoint : [RpcMock.NewEndpoint()];
        RpcEndpoint[] parsed = [.. endpoints.Select(RpcEndpoint.Parse)];
        EndpointParameters.Check(
            Option.Given, NameOf, [.. parsed.Select(endpoint => new EndpointUse(endpoint))]);
        HandlerEnvironment environment = CreateEnvironment();
        HandlerPool pool = CreatePool(environment, Limits, hasFilters: false);
        HttpEndpoints http = CreateHttp(pool);
        RpcServerOptions options = new()
        {
            Limits = Limits,
            ErrorDetail = Option.ErrorDetail,
            CallFailed = failed => pool.Streams.Add(FailureRecord.Create(failed)),
        };
        RpcMock mock = RpcMock.Create(
            schema, Service.Length > 0 ? Service : null, http.AddTo(options, parsed, environment));
        mock.Server.Completion.ContinueWith(_ => http.Dispose(), TaskScheduler.Default);
        MockSetup setup = ReadSetup(mock, environment, pool);
        setup.Apply();
        Array.ForEach(endpoints, endpoint => mock.AddEndpoint(endpoint));
        if (ShouldProcess(string.Join(", ", endpoints), "Start a mock"))
        {
            Start(schema, mock, pool, setup.Methods);
        }
    }

    private void Start(RpcSchema schema, RpcMock mock, HandlerPool pool, IReadOnlyList<string> methods)
    {
        StartServing(pool, () => mock.StartListening());

        RunspaceStore store = RunspaceStore.Current;
        RpcMockListener listener = new(store.NextId(), schema, mock, pool, methods);
        store.Add(listener);
        MockDrive.Add(listener, SessionState);
        WriteObject(listener);
    }
}

[Cmdlet(VerbsCommon.Set, "RpcMock", SupportsShouldProcess = true)]
public sealed class SetRpcMockCommand : RpcMockSetupCommand
{
    [Parameter(Mandatory = true, Position = 0, ValueFromPipeline = true)]
    [ArgumentCompleter(typeof(MockCompleter))]
    public RpcMockListener Mock { get; set; } = null!;

    [Parameter]
    public SwitchParameter Reset { get; set; }

    protected override void Process()
    {
        if (!ShouldProcess(Mock.ToString(), "Change the replies of the mock"))
        {
            return;
        }

        try
        {
            Change();
        }
        catch (RpcException e)
        {
            // A terminating error, because the test must not go on with the old replies.
            Fail(e, Mock);
        }
    }

    private void Change()
    {
        ListenerSettings.CheckMockChange(Option);
        RequireImpersonation();
        HandlerEnvironment environment = CreateEnvironment();
        // The scripts of earlier replies have their own workers, because they may still be running.
        HandlerPool pool = new(environment, Mock.Streams, Option.WorkerCount, Limits)
        {
            Impersonates = Option.IsGiven(nameof(Option.Impersonate))
                ? Option.Impersonate
                : Mock.Handlers.Impersonates,
        };
        MockSetup setup = ReadSetup(Mock.Mock, environment, pool);

        // Everything that can fail is done before the mock changes.
        StartServing(pool);
        if (Reset)
        {
            Mock.Reset();
        }

        setup.Apply();
        Mock.Use(pool, setup.Methods);
    }
}

/// <summary>Converts a script's value for a mocked method to replies of <see cref="RpcMock"/>.</summary>
/// <param name="handlers">Converts script blocks and connections to handlers.</param>
internal sealed class MockReplyValue(HandlerValue handlers)
{
    /// <summary>The replies, one for each call.</summary>
    /// <exception cref="RpcException">InvalidArgument: the value cannot be a reply of the method. The message
    /// has the reason.</exception>
    public IReadOnlyList<object> ToReplies(RpcMethodInfo method, object? value)
    {
        if (ListOf(value) is not { } list)
        {
            return [ToReply(method, value)];
        }

        // For a server-streaming method, a list contains the messages of one call, unless it is a list of
        // calls.
        if (!method.IsServerStreaming || list.Any(item => ListOf(item) is not null || Runs(item)))
        {
            return [.. list.Select(item => ListOf(item) is { } stream
                ? stream.ConvertAll(message => ToMessage(method, message))
                : ToReply(method, item))];
        }

        return [list.ConvertAll(message => ToMessage(method, message))];
    }

    private object ToReply(RpcMethodInfo method, object? value) =>
        Runs(value) ? handlers.ToHandler(method, value) : OfStream(method, ToMessage(method, value));

    // A single message is a stream of one.
    private static object OfStream(RpcMethodInfo method, object message) =>
        method.IsServerStreaming && message is not Exception ? new List<object> { message } : message;

    private static bool Runs(object? value) => HandlerValue.Bare(value) is ScriptBlock or RpcConnection;

    private static List<object?>? ListOf(object? value) =>
        HandlerValue.Bare(value) is IEnumerable list and not (string or IDictionary or IMessage or byte[])
            ? [.. list.Cast<object?>()]
            : null;

    private static object ToMessage(RpcMethodInfo method, object? value) => HandlerValue.Bare(value) switch
    {
        ErrorRecord record => ToFailure(method, record.Exception),
        Exception failure => ToFailure(method, failure),
        IMessage message => message,
        IDictionary fields => fields,
        null or string or char or bool or ValueType => throw HandlerValue.Invalid(
            $"A reply of '{method.Name}' is not a message: '{value}'. Write {method.Name} = @{{ ... }} for a "
            + $"reply, {method.Name} = @{{ ... }}, @{{ ... }} for one reply after the other, "
            + $"{method.Name} = {{ ... }} to run a script, or "
            + $"{method.Name} = [ProtoRpc.RpcException]::new('Unavailable', 'down') to fail."),
        _ => value!,
    };

    // Converted now, in the caller's session, so that errors are reported before the first call.
    private static Exception ToFailure(RpcMethodInfo method, Exception failure)
    {
        if (failure is not RpcException rpc)
        {
            return failure;
        }

        ErrorDetails.ToMessages(rpc, method.Service.Schema);
        if (rpc.Details.FirstOrDefault(detail => detail is not IMessage) is { } other)
        {
            throw HandlerValue.Invalid(
                $"A detail of the failure of '{method.Name}' is not a message: '{other}'. Write a hashtable "
                + "with the full name of a type of the schema or of google.rpc, "
                + "@{ '@type' = 'google.rpc.RetryInfo'; ... }.");
        }

        if (rpc.Extensions is not null)
        {
            ErrorDetails.ToExtensions(rpc, method.Service.Schema);
        }

        return rpc;
    }
}

/// <summary>A change of a mock that was checked.</summary>
/// <param name="Methods">The full names of the methods with new replies.</param>
/// <param name="Apply">Changes the mock; cannot fail.</param>
internal sealed record MockSetup(IReadOnlyList<string> Methods, Action Apply);
