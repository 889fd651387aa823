using System.Collections;
using System.Collections.ObjectModel;
using System.Management.Automation;
using System.Runtime.ExceptionServices;
using ProtoRpc.Client.Kept;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

/// <summary>The base of every cmdlet: cancellation, paths,
/// and one place where failures become error records.</summary>
public abstract class RpcCmdlet : PSCmdlet, IDisposable
{
    private readonly CancellationTokenSource _stopping = new();
    private long _row;
    private bool _inRow;
    private bool? _isDebug;
    private bool? _isVerbose;
    private RetryLines? _retries;
    private ExceptionDispatchInfo? _ended;

    /// <summary>Cancelled by Ctrl+C.</summary>
    protected CancellationToken Cancellation => _stopping.Token;

    /// <inheritdoc/>
    public void Dispose()
    {
        Dispose(disposing: true);
        GC.SuppressFinalize(this);
    }

    /// <summary>Frees what the cmdlet holds.</summary>
    protected virtual void Dispose(bool disposing)
    {
        if (disposing)
        {
            _stopping.Dispose();
        }
    }

    protected override void StopProcessing()
    {
        try
        {
            _stopping.Cancel();
        }
        catch (ObjectDisposedException)
        {
            // The cmdlet ended while Ctrl+C was pressed.
        }
    }

    protected override void BeginProcessing() => Guard(null, Begin);

    protected override void ProcessRecord()
    {
        _row++;
        _inRow = true;
        Guard(null, Process);
        _inRow = false;
    }

    protected override void EndProcessing() => Guard(null, End);

    /// <summary>Once, before the first pipeline object.</summary>
    protected virtual void Begin()
    {
    }

    /// <summary>For each pipeline object.</summary>
    protected virtual void Process()
    {
    }

    /// <summary>Once, after the last pipeline object.</summary>
    protected virtual void End()
    {
    }

    /// <summary>The pipeline object that is being processed, where errors are to name it;
    /// null for none.</summary>
    private protected virtual object? RowObject => null;

    /// <summary>Which pipeline object is being processed, and that object; null for none.</summary>
    private protected PipelineRow? CurrentRow => _inRow && RowObject is { } input ? new(_row, input) : null;

    /// <summary>Runs an action; an <see cref="RpcException"/> becomes a non-terminating error,
    /// so that a pipeline goes on with its next object.</summary>
    /// <returns>Whether it succeeded.</returns>
    protected bool Guard(object? target, Action action)
    {
        bool succeeded = Try(target, action);
        _ended?.Throw();
        return succeeded;
    }

    private bool Try(object? target, Action action)
    {
        PendingTrace? trace = IsDebug ? RunspaceStore.Current.Trace : null;
        RetryLines? retries = IsVerbose ? _retries ??= new RetryLines(WriteRetry) : null;
        RetryLines? reader = retries?.Enter();
        try
        {
            trace?.Enter();
            action();
            return true;
        }
        catch (RpcException e)
        {
            if (!Stopping && _ended is null)
            {
                WriteError(RpcErrors.ToRecord(e, target, CurrentRow));
            }

            return false;
        }
        catch (OperationCanceledException) when (_stopping.IsCancellationRequested)
        {
            return false;
        }
        finally
        {
            trace?.Leave();
            retries?.Leave(reader);
            WritePendingDebug();
        }
    }

    /// <summary>Whether verbose lines are shown, so that it is worth to gather what they say.</summary>
    private protected bool IsVerbose => _isVerbose ??= IsDebug || Shows("Verbose");

    /// <summary>Whether debug lines are shown, so that it is worth to trace.</summary>
    private protected bool IsDebug => _isDebug ??= Shows("Debug");

    /// <summary>Writes what clients have said to the debug stream.</summary>
    private protected void WritePendingDebug()
    {
        if (!Stopping)
        {
            RunspaceStore.Current.DebugLog.WriteTo(WriteDebug);
        }
    }

    /// <summary>Writes attempts that failed on other threads, while the cmdlet waits for them.</summary>
    private protected void WritePendingRetries() => _retries?.WriteWaiting();

    private void WriteRetry(string line)
    {
        if (Stopping || _ended is not null)
        {
            return;
        }

        try
        {
            WriteVerbose(line);
        }
        catch (Exception e)
        {
            // The pipeline wants no more: the call must not take it for a failure of the log and go on.
            _ended = ExceptionDispatchInfo.Capture(e);
            StopProcessing();
        }
    }

    /// <summary>Whose invocation it is: the cmdlet's own, or that of a command that it is a part
    /// of.</summary>
    private protected virtual PSCmdlet Caller => this;

    private bool Shows(string name) => IsGiven(name)
        ?? LanguagePrimitives.ConvertTo<ActionPreference>(Caller.GetVariableValue($"{name}Preference"))
            is not (ActionPreference.SilentlyContinue or ActionPreference.Ignore);

    private bool? IsGiven(string name) =>
        Caller.MyInvocation.BoundParameters.TryGetValue(name, out object? given)
            ? LanguagePrimitives.IsTrue(given)
            : null;

    /// <summary>Ends the cmdlet with an error.</summary>
    protected void Fail(RpcException exception, object? target = null) =>
        ThrowTerminatingError(RpcErrors.ToRecord(exception, target));

    /// <summary>Writes a warning, which may quote a peer or a schema.</summary>
    protected new void WriteWarning(string text) => base.WriteWarning(TerminalText.Neutralize(text));

    /// <summary>Writes a verbose line, which may quote a peer or a schema.</summary>
    protected new void WriteVerbose(string text)
    {
        // The shell asks whether to go on after each verbose line of a cmdlet with -Debug and no -Verbose.
        if (IsGiven("Debug") == true && IsGiven("Verbose") is null)
        {
            WriteDebug(text);
        }
        else
        {
            base.WriteVerbose(TerminalText.Neutralize(text));
        }
    }

    /// <summary>Writes a debug line, which may quote a peer or a schema.</summary>
    protected new void WriteDebug(string text) => base.WriteDebug(TerminalText.Neutralize(text));

    /// <summary>The files that paths name, by the rules of the shell:
    /// relative to its location, drives, wildcards.</summary>
    /// <exception cref="RpcException">InvalidArgument: not on the file system.</exception>
    protected IReadOnlyList<string> ResolveFiles(IEnumerable<string> paths)
    {
        List<string> files = [];
        foreach (string path in paths)
        {
            try
            {
                Collection<string> found = GetResolvedProviderPathFromPSPath(path, out ProviderInfo provider);
                if (provider.Name != "FileSystem")
                {
                    throw RpcErrors.NotAFile(path, $"it is on the provider {provider.Name}");
                }

                files.AddRange(found);
            }
            catch (ItemNotFoundException)
            {
                // The reader of the files says what is missing.
                files.Add(GetUnresolvedProviderPathFromPSPath(path));
            }
            catch (System.Management.Automation.DriveNotFoundException e)
            {
                throw RpcErrors.NotAFile(path, e.Message, e);
            }
        }

        return files;
    }

    /// <summary>The items with some ids; an id that none has is an error.</summary>
    internal IReadOnlyList<T> WithIds<T>(IReadOnlyList<T> all, int[] ids, Func<T, int> idOf, string kind)
    {
        HashSet<int> known = [.. all.Select(idOf)];
        foreach (int id in ids.Where(id => !known.Contains(id)))
        {
            RpcException missing = new(
                RpcStatusCode.NotFound, $"This runspace has no {kind} with the id {id}.")
            {
                ErrorId = kind == "listener" ? RpcErrorIds.ListenerNotFound : RpcErrorIds.ConnectionNotFound,
            };
            WriteError(RpcErrors.ToRecord(missing, id));
        }

        return [.. all.Where(item => ids.Contains(idOf(item)))];
    }

    /// <summary>The one file that a path names.</summary>
    /// <exception cref="RpcException">InvalidArgument: not on the file system, or several.</exception>
    internal string ResolveFile(string path) => ResolveFiles([path]) is [{ } only]
        ? only
        : throw RpcErrors.NotAFile(path, "it names several files");

    /// <summary>A schema that was given as an object, or that is read from where it is.</summary>
    internal RpcSchema Resolve(RpcSchemaSource source) =>
        source.Schema ?? (source.Import is { } parameters ? Import(parameters) : LoadSchema(source.Paths));

    /// <summary>The same, which is the schema of the call before where its files did not change since, or
    /// its server told it within five minutes, so that a connection can be kept.</summary>
    private protected RpcSchema ResolveKept(RpcSchemaSource source)
    {
        KeptSchemas kept = RunspaceStore.Current.Schemas;
        if (source.Paths.Count == 0)
        {
            return Resolve(source);
        }

        int addresses = source.Paths.Count(RpcSchemaLoader.IsAddress);
        return addresses == 0 ? kept.Find(ResolveFiles(source.Paths), () => Resolve(source))
            : addresses == source.Paths.Count
                ? kept.Find(source.Paths, [.. source.Paths.Select(ContactOf)], () => Resolve(source))
            : Resolve(source);
    }

    private ClientKey ContactOf(string address)
    {
        RpcEndpoint endpoint = RpcSchemaLoader.EndpointOf(address);
        return ClientKey.Of(endpoint, schema: null, SchemaOptionsOf(endpoint));
    }

    /// <summary>Reads files, and asks servers.</summary>
    private protected RpcSchema LoadSchema(IReadOnlyCollection<string> paths)
    {
        ILookup<bool, string> locations = paths.ToLookup(RpcSchemaLoader.IsAddress);
        // Here, and not when a server's turn comes: certificates are read at the shell's location.
        Dictionary<string, RpcClientOptions> options = locations[true].Select(RpcSchemaLoader.EndpointOf)
            .DistinctBy(endpoint => endpoint.ToString())
            .ToDictionary(endpoint => endpoint.ToString(), SchemaOptionsOf);
        RpcSchema schema = RpcSchemaLoader.LoadAsync(
            [.. ResolveFiles(locations[false]), .. locations[true]],
            new RpcSchemaLoadOptions(),
            endpoint => options[endpoint.ToString()],
            Cancellation).GetAwaiter().GetResult();
        foreach (string warning in options.Count > 0 ? schema.Warnings : [])
        {
            WriteWarning(warning);
        }

        return schema;
    }

    /// <summary>How the server of a schema is contacted.</summary>
    private protected virtual RpcClientOptions SchemaOptionsOf(RpcEndpoint endpoint) => new();

    // By the name of the module: a script may have a function of the cmdlet's name.
    private RpcSchema Import(IDictionary parameters)
    {
        using System.Management.Automation.PowerShell shell =
            System.Management.Automation.PowerShell.Create(RunspaceMode.CurrentRunspace);
        try
        {
            shell.AddCommand($"{MyInvocation.MyCommand.ModuleName}\\Import-RpcSchema")
                .AddParameters(parameters)
                .AddParameter("ErrorAction", ActionPreference.Stop);
            return shell.Invoke<RpcSchema>() is [{ } only]
                ? only
                : throw new RpcException(
                    RpcStatusCode.InvalidArgument,
                    "The hashtable of -Schema makes several schemas, not one.");
        }
        catch (RuntimeException e) when (e.ErrorRecord.Exception is RpcException cause)
        {
            throw cause;
        }
        catch (Exception e) when (e is RuntimeException or ArgumentException)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"A hashtable for -Schema has the parameters of Import-RpcSchema: {e.Message}", e)
            {
                ErrorId = RpcErrorIds.InvalidSchemaSource,
            };
        }
    }
}
