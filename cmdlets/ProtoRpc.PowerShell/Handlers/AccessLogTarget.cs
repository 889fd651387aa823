using Google.Protobuf;
using Shell = System.Management.Automation.PowerShell;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>The value of <c>-AccessLog</c>: the path of a file, or a script block.</summary>
internal static class AccessLogTarget
{
    /// <summary>Creates the access log of a listener. Its warnings become records of the listener.</summary>
    /// <param name="value">The value of the parameter; null for no log.</param>
    /// <param name="environment">The parts of the caller's session that the block uses.</param>
    /// <param name="streams">The records of the listener.</param>
    /// <param name="resolve">Resolves a path by the rules of the shell.</param>
    /// <param name="script">Dispose of it after the listener has stopped; null for a file.</param>
    /// <exception cref="RpcException">InvalidArgument: the value is neither a path nor a block.</exception>
    public static RpcAccessLog? Create(
        object? value, HandlerEnvironment environment, HandlerStreams streams, Func<string, string> resolve,
        out IDisposable? script)
    {
        script = null;
        object? given = value is PSObject wrapped ? wrapped.BaseObject : value;
        switch (given)
        {
            case null:
                return null;
            case ScriptBlock block:
                AccessLogScript written =
                    new(environment, environment.AddPlain(block, "-AccessLog"), streams);
                script = written;
                return RpcAccessLog.To(written.Write, Warn);
            case string { Length: > 0 } path:
                return RpcAccessLog.ToFile(resolve(path), Warn);
            case FileInfo file:
                return RpcAccessLog.ToFile(file.FullName, Warn);
            default:
                throw new RpcException(
                    RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidAccessLog,
                    "-AccessLog must be the path of a file or a script block, not "
                    + (given is string
                        ? "an empty text."
                        : $"an object of the type {given.GetType().FullName}."));
        }

        void Warn(string text) => streams.Add(new WarningRecord(text));
    }
}

/// <summary>Runs a script block for each call of a listener, one call at a time, in a separate runspace. The
/// block's streams and errors become records of the listener.</summary>
internal sealed class AccessLogScript(
    HandlerEnvironment environment, ScriptSource script, HandlerStreams streams) : IDisposable
{
    private readonly string _script = script.Parse().ToString();
    private Shell? _shell;

    /// <summary>Runs the block for a call.</summary>
    /// <exception cref="RuntimeException">The block failed.</exception>
    public void Write(RpcAccessLogEntry entry)
    {
        Shell shell = _shell ??= Open();
        shell.Commands.Clear();
        shell.AddScript(_script, useLocalScope: true).AddArgument(entry);
        try
        {
            shell.Invoke();
        }
        finally
        {
            Report(shell.Streams);
        }
    }

    /// <summary>Closes the runspace, even while the block runs.</summary>
    public void Dispose()
    {
        if (_shell is { } shell)
        {
            shell.BeginStop(
                _ =>
                {
                    shell.Runspace.Dispose();
                    shell.Dispose();
                },
                null);
        }
    }

    // Opened by the first call, on the log's own thread.
    private Shell Open()
    {
        Shell shell = Shell.Create();
        shell.Runspace = environment.OpenRunspace();
        return shell;
    }

    private void Report(PSDataStreams from)
    {
        foreach (ErrorRecord error in from.Error.ReadAll())
        {
            streams.Add(new WarningRecord($"The access log's script reported: {error}"));
        }

        foreach (object record in from.Warning.ReadAll().Cast<object>()
            .Concat(from.Information.ReadAll()).Concat(from.Verbose.ReadAll()).Concat(from.Debug.ReadAll()))
        {
            streams.Add(record);
        }
    }
}

/// <summary>Records a listener's calls. The interceptor is added before the listener starts; its file is
/// opened when the listener starts.</summary>
internal sealed class CallRecord : IRpcInterceptor, IPassesBytes, IDisposable
{
    private RpcCallRecorder? _recorder;

    /// <summary>Opens the file.</summary>
    /// <exception cref="RpcException">The file cannot be written, or a mask is invalid.</exception>
    public RpcCallRecorder Open(string path, RpcCallRecorderOptions options) =>
        _recorder = new RpcCallRecorder(path, options);

    public ValueTask<IMessage> InvokeAsync(
        RpcServerCallContext context, IMessage request, RpcHandler next) =>
        _recorder!.InvokeAsync(context, request, next);

    public ValueTask InvokeStreamAsync(
        RpcServerCallContext context, RpcServerStream stream, RpcStreamHandler next) =>
        _recorder!.InvokeStreamAsync(context, stream, next);

    /// <summary>Writes the waiting calls, and closes the file.</summary>
    public void Dispose() => _recorder?.Dispose();
}
