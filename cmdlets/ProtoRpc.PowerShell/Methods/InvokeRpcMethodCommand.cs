using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Connections;
using ProtoRpc.PowerShell.Methods;
using ProtoRpc.PowerShell.Objects;
using ProtoRpc.Protocols.Headers;

namespace ProtoRpc;

[Cmdlet(VerbsLifecycle.Invoke, "RpcMethod", DefaultParameterSetName = ByConnection)]
[OutputType(
    typeof(PSObject),
    typeof(System.Collections.Specialized.OrderedDictionary),
    typeof(byte[]), typeof(RpcCallResult), typeof(RpcCallJob))]
public sealed partial class InvokeRpcMethodCommand : RpcConnectingCommand
{
    private const string ByConnection = "Connection";
    private const string ByEndpoint = "Endpoint";
    private const string ByInput = "InputObject";

    private StreamingInvocation? _stream;
    private RpcReplyInfo? _info;
    private bool _connectionIsGiven;
    private RpcConnectionOption? _callOption;
    private bool _connectionWaits;
    private bool _sawInput;
    private bool _streamEnded;
    private bool _disposing;

    // Not mandatory for connections: a raw connection has no methods.
    [Parameter(Position = 0, ParameterSetName = ByConnection)]
    [Parameter(Position = 0, ParameterSetName = ByInput)]
    [Parameter(Mandatory = true, Position = 0, ParameterSetName = ByEndpoint)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(MethodCompleter))]
    public string Method { get; set; } = "";

    [Parameter(Position = 1, ParameterSetName = ByConnection)]
    [Parameter(Position = 1, ParameterSetName = ByEndpoint)]
    [AllowNull]
    [ArgumentCompleter(typeof(MessageCompleter))]
    public object? Message { get; set; }

    // Separate from -Message, because PowerShell does not complete parameters that are bound from the
    // pipeline.
    [Parameter(ValueFromPipeline = true, ParameterSetName = ByInput)]
    [Parameter(ValueFromPipeline = true, ParameterSetName = ByEndpoint)]
    [AllowNull]
    [ArgumentCompleter(typeof(MessageCompleter))]
    public object? InputObject { get; set; }

    [Parameter(ValueFromPipeline = true, ParameterSetName = ByConnection)]
    [Parameter(ParameterSetName = ByInput)]
    [ValidateNotNull]
    [OneConnection]
    [ArgumentCompleter(typeof(ConnectionCompleter))]
    public RpcConnection[]? Connection { get; set; }

    [Parameter]
    [Deadline]
    public TimeSpan? Deadline { get; set; }

    [Parameter]
    public SwitchParameter AsHashtable { get; set; }

    [Parameter]
    public SwitchParameter Raw { get; set; }

    [Parameter]
    public SwitchParameter AllowUnknownField { get; set; }

    [Parameter]
    [ValidateNotNullOrEmpty]
    public string? ReplyInfoVariable { get; set; }

    [Parameter]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(ExtensionCompleter))]
    public IDictionary? Extension { get; set; }

    [Parameter]
    [ValidateRange(1, 10_000)]
    public int ThrottleLimit { get; set; } = 32;

    [Parameter]
    public SwitchParameter AsJob { get; set; }

    [Parameter]
    public SwitchParameter PassThruResult { get; set; }

    // For a method with a request stream, all pipeline objects are requests of one call; for other methods,
    // each object is a call. Without -Connection, PowerShell does not choose a parameter set, and an object
    // that is not a connection is a message.
    private bool IsFed =>
        Caller.MyInvocation.ExpectingInput && (_connectionIsGiven || Connection is null);

    private protected override object? RowObject => IsFed ? _inputOfCommand ?? Request : null;

    // While the parameter set is undecided, PowerShell binds a connection from the pipeline to both
    // parameters.
    private object? Request => MessagePath is not null
        ? MessageFile
        : Message ?? (_connectionIsGiven || Connection is null ? InputObject : null);

    protected override void Begin() => _connectionIsGiven = IsGiven(nameof(Connection));

    protected override void Process()
    {
        if (!MakeMessage())
        {
            return;
        }

        CheckInput();
        if (IsRawCall)
        {
            ProcessBytes();
        }
        else if (FansOut)
        {
            StartCalls();
        }
        else
        {
            Guard(Method, () =>
            {
                try
                {
                    ProcessMessage();
                }
                catch (RpcException e) when (RenewSchema(e))
                {
                    ProcessMessage();
                }
            });
        }
    }

    protected override void End() => Guard(Target, () =>
    {
        if (IsRawCall)
        {
            CallWithJoinedBytes();
        }

        if (FansOut)
        {
            FinishCalls();
            return;
        }

        if (!IsRawCall && _stream is null && !_sawInput
            && Caller.MyInvocation.ExpectingInput
            && FindMethod(out RpcClient client) is { IsClientStreaming: true } method)
        {
            OpenStream(client, method);
        }

        FinishStream();
    });

    protected override void Dispose(bool disposing)
    {
        if (disposing)
        {
            _disposing = true;
            _stopping.Dispose();
            EndStream();
            _fanOut?.Dispose();
            _kept?.Dispose();
            _joined?.Dispose();
        }

        base.Dispose(disposing);
    }

    private void ProcessMessage()
    {
        _sawInput = true;
        if (_streamEnded)
        {
            return;
        }

        RpcMethodInfo method = FindMethod(out RpcClient client);
        if (All)
        {
            CallPages(client, method);
        }
        else if (method.IsUnary)
        {
            CallUnary(client, method);
        }
        else if (IsFed && method.IsClientStreaming)
        {
            Feed(client, method);
        }
        else
        {
            CallStream(client, method);
        }
    }

    private void CallUnary(RpcClient client, RpcMethodInfo method)
    {
        RpcReplyInfo? info = NewInfo(client);
        using TransferProgress progress = new(method, WriteProgress);
        try
        {
            DynamicMessage request = Requests.Read(method, Request);
            WriteRepeat(client, method, [request]);
            Write(client, Invoke(client, method, request, Options(info, progress, method)), info);
        }
        finally
        {
            SetVariables(info);
        }
    }

    // Makes one call with all messages of -Message.
    private void CallStream(RpcClient client, RpcMethodInfo method)
    {
        List<DynamicMessage> requests = Requests.ReadAll(method, Request);
        WriteRepeat(client, method, requests);
        OpenStream(client, method);
        try
        {
            requests.TrueForAll(_stream!.Send);
            _stream.Finish();
        }
        finally
        {
            EndStream();
        }
    }

    private void Feed(RpcClient client, RpcMethodInfo method)
    {
        try
        {
            if (_stream is null)
            {
                OpenStream(client, method);
            }

            if (!_stream!.Send(Requests.Read(method, Request)))
            {
                _streamEnded = true;
                FinishStream();
            }
        }
        catch (RpcException)
        {
            // A message could not be read. The stream would be incomplete, so the call ends and further
            // objects are not sent.
            _streamEnded = true;
            EndStream();
            throw;
        }
    }

    private void OpenStream(RpcClient client, RpcMethodInfo method)
    {
        BeginReport(method.FullName, client.Endpoint, _info = NewInfo(client));
        _stream = new StreamingInvocation(
            client.Open(method, Options(_info, method: method), Cancellation),
            reply => Write(client, reply, _info),
            NewProgress("Streaming"));
    }

    private void FinishStream()
    {
        try
        {
            _stream?.Finish();
        }
        finally
        {
            EndStream();
        }
    }

    private void EndStream()
    {
        StreamingInvocation? stream = _stream;
        _stream = null;
        if (stream is not null)
        {
            stream.Dispose();
            SetVariables(_info);
            EndReport(stream.Status);
        }
    }

    private RpcConnection Resolve(RpcConnection? given) => IsOneLiner
        ? KeepConnection()
        : Store.Resolve(
            given,
            _command is null || _isOneLinerOfStream is not null
                ? "-Endpoint or -Connection"
                : "-Connection");

    // A pipeline that has ended accepts no progress records, and has removed its progress bar.
    private WaitProgress NewProgress(string doing) => new(
        Title(doing),
        record =>
        {
            if (!_disposing && !Stopping)
            {
                WriteProgress(record);
            }
        },
        WritePendingRetries);

    private string Title(string doing) => IsRawCall ? doing : $"{doing} {Method}";

    [Parameter(Mandatory = true, ParameterSetName = ByEndpoint)]
    [ValidateNotNullOrEmpty]
    [FilledLines]
    [ArgumentCompleter(typeof(EndpointCompleter))]
    public string[] Endpoint { get; set; } = [];

    [Parameter(ParameterSetName = ByEndpoint)]
    [ValidateNotNull]
    [SchemaList]
    [ArgumentCompleter(typeof(SchemaFileCompleter))]
    public RpcSchemaSource? Schema { get; set; }

    [Parameter(ParameterSetName = ByEndpoint)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(ServiceCompleter))]
    public string? Service { get => Own.Service; set => Own.Service = value; }

    [Parameter(ParameterSetName = ByEndpoint)]
    [CredentialSource]
    [ValidateNotNull]
    public RpcCredentialSource? Credential { get => Own.Credential; set => Own.Credential = value; }

    [Parameter(ParameterSetName = ByEndpoint)]
    [TokenSource]
    [ValidateNotNull]
    public RpcTokenSource? Token { get => Own.Token; set => Own.Token = value; }

    [Parameter(ParameterSetName = ByEndpoint)]
    public SwitchParameter SkipCertificateCheck
    {
        get => Own.SkipCertificateCheck;
        set => Own.SkipCertificateCheck = value;
    }

    [Parameter(ParameterSetName = ByEndpoint)]
    [ValidateNotNullOrEmpty]
    public RpcCertificateSource[] CACertificate
    {
        get => Own.CACertificate;
        set => Own.CACertificate = value;
    }

    [Parameter(ParameterSetName = ByEndpoint)]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(CertificateCompleter))]
    public RpcCertificateSource? ClientCertificate
    {
        get => Own.ClientCertificate;
        set => Own.ClientCertificate = value;
    }

    [Parameter]
    [Alias("RetryCount")]
    [RetryTable]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(RetryCompleter))]
    public RpcRetryPolicy? Retry { get => Own.Retry; set => Own.Retry = value; }

    [Parameter]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(HeaderCompleter))]
    public IDictionary? Header { get => Own.Header; set => Own.Header = value; }

    // The settings of calls: those of the endpoint or, for a connection, those of the command line.
    private RpcConnectionOption CallOption => IsOneLiner ? Option
        : ConnectionOption is null ? Own
        : _callOption ??= CommandOption;

    private bool WaitsForReady => Waits(_connectionWaits);

    private bool Waits(bool otherwise) =>
        CallOption.Find<SwitchParameter>(nameof(CallOption.WaitForReady))?.IsPresent ?? otherwise;

    // The client of an endpoint already has these settings.
    private RpcConnectionOption? OfCall => IsOneLiner ? null : CallOption;

    // Headers are sent with each call, so that one connection can be used for calls with different headers.
    private protected override RpcClientOptions CreateOptions() => base.CreateOptions() with
    {
        Headers = new(),
        Lazy = true,
    };

    private CallLogLine? _report;

    // Headers and trailers are read only if a variable needs them, or several servers may answer.
    private RpcReplyInfo? NewInfo(RpcClient client) =>
        ReplyInfoVariable is null && !IsVerbose && client.Endpoints.Count == 1 ? null : new RpcReplyInfo();

    // One request and one reply, with a verbose line when the call has ended.
    private DynamicMessage Invoke(
        RpcClient client, RpcMethodInfo method, DynamicMessage request, RpcCallOptions options)
    {
        BeginReport(method.FullName, client.Endpoint, options.ReplyInfo);
        return Reported(() => client.Invoke(method, request, options, Cancellation));
    }

    private TReply Reported<TReply>(Func<TReply> call)
    {
        RpcStatusCode status = RpcStatusCode.Unknown;
        try
        {
            TReply reply = call();
            status = RpcStatusCode.OK;
            return reply;
        }
        catch (RpcException e)
        {
            status = e.Code;
            throw;
        }
        finally
        {
            EndReport(status);
        }
    }

    private void BeginReport(string method, RpcEndpoint endpoint, RpcReplyInfo? info) =>
        _report = info is not null && IsVerbose ? new CallLogLine(method, endpoint, info) : null;

    private void EndReport(RpcStatusCode status)
    {
        CallLogLine? report = _report;
        _report = null;
        if (report is not null && !_disposing && !Stopping)
        {
            WritePendingDebug();
            WriteVerbose(report.TextOf(status));
        }
    }

    private RpcCallOptions Options(
        RpcReplyInfo? info, IProgress<RpcProgress>? progress = null, RpcMethodInfo? method = null) => new()
        {
            Timeout = Deadline,
            Headers = CallOption.Header is { } headers ? HeaderMapping.ToMetadata(headers) : null,
            Compression = OfCall?.Find<RpcCompression>(nameof(CallOption.Compression)),
            Extensions = method is null ? null : ExtensionsFor(method, Extension),
            ReplyInfo = info,
            Progress = progress,
            Retry = OfCall?.Retry,
            WaitForReady = WaitsForReady,
        };

    private static RpcCallOptions WithExtensions(
        RpcCallOptions options, RpcMethodInfo method, IDictionary? extension) =>
        extension is null ? options : options with { Extensions = ExtensionsFor(method, extension) };

    private static DynamicMessage? ExtensionsFor(RpcMethodInfo method, IDictionary? extension) =>
        extension is null
            ? null
            : HeaderExtensionMap.ToMessage(method.Service.Schema, RpcRequestHeader.Descriptor, extension);

    private void SetVariables(RpcReplyInfo? info)
    {
        if (ReplyInfoVariable is not null)
        {
            Caller.SessionState.PSVariable.Set(ReplyInfoVariable, HeaderMapping.ToObject(info!));
        }
    }

    private PSCmdlet? _command;
    private IReadOnlySet<string>? _givenToCommand;
    private CancellationTokenRegistration _stopping;
    private object? _inputOfCommand;
    private Func<object?>? _messageOfCommand;
    private Func<object?, bool>? _allowsMessage;

    /// <summary>The method that the command calls, which does not depend on the schema of a connection; null
    /// outside of a command.</summary>
    internal RpcMethodInfo? MethodOfCommand { get; private init; }

    // The cmdlet that owns the invocation and its jobs: another cmdlet that uses this one, or this one.
    private protected override PSCmdlet Caller => _command ?? this;

    private protected override IEnumerable<string> GivenParameters =>
        _givenToCommand ?? base.GivenParameters;

    /// <summary>The cmdlet for a command that is running.</summary>
    /// <param name="command">The command.</param>
    /// <param name="method">The method that it calls.</param>
    /// <param name="given">The parameters of this cmdlet that were given to the command.</param>
    internal static InvokeRpcMethodCommand For(
        PSCmdlet command, RpcMethodInfo method, IReadOnlySet<string> given)
    {
        InvokeRpcMethodCommand cmdlet = new()
        {
            CommandRuntime = command.CommandRuntime,
            Method = method.FullName,
            MethodOfCommand = method,
            _command = command,
            _givenToCommand = given,
        };
        cmdlet._stopping = command.PipelineStopToken.UnsafeRegister(
            static state => ((InvokeRpcMethodCommand)state!).StopProcessing(), cmdlet);
        return cmdlet;
    }

    /// <summary>The begin block of the command.</summary>
    internal void BeginCommand() => BeginProcessing();

    /// <summary>The process block of the command.</summary>
    /// <param name="message">Makes the message, or for a stream the messages.</param>
    /// <param name="allows">Whether a message is sent.</param>
    /// <param name="input">What it is made of, for errors; null for parameters alone.</param>
    internal void ProcessCommand(Func<object?> message, Func<object?, bool> allows, object? input)
    {
        _inputOfCommand = input;
        _messageOfCommand = message;
        _allowsMessage = allows;
        ProcessRecord();
    }

    // Within the record, so that an error contains its row.
    private bool MakeMessage()
    {
        bool isAllowed = true;
        return _messageOfCommand is not { } make || (Guard(Method, () =>
        {
            InputObject = make();
            isAllowed = _allowsMessage!(InputObject);
        }) && isAllowed);
    }

    /// <summary>The end block of the command.</summary>
    internal void EndCommand() => EndProcessing();

    /// <summary>Ends the command with an error.</summary>
    internal void FailCommand(RpcException error) => Fail(error, Method);

    /// <summary>Cancelled when the command is stopped.</summary>
    internal CancellationToken CancellationOfCommand => Cancellation;

    private protected override bool IsGiven(string parameter) =>
        _givenToCommand?.Contains(parameter) ?? base.IsGiven(parameter);
}
