using System.Collections.ObjectModel;
using System.Runtime.ExceptionServices;
using ProtoRpc.Client;
using ProtoRpc.Client.Schemas;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Connections;

namespace ProtoRpc;

/// <summary>The base of every cmdlet. Handles cancellation and paths, and converts failures to error records
/// in one place.</summary>
public abstract class RpcCmdlet : PSCmdlet, IDisposable
{
    private readonly CancellationTokenSource _stopping = new();
    private long _row;
    private bool _inRow;
    private bool? _isDebug;
    private bool? _isVerbose;
    private RetryLines? _retries;
    private ExceptionDispatchInfo? _ended;
    private RunspaceStore? _store;

    private protected RpcCmdlet()
    {
    }

    /// <summary>Cancelled by Ctrl+C, and if a verbose line ends the cmdlet, which PipelineStopToken does not
    /// report.</summary>
    protected CancellationToken Cancellation => _stopping.Token;

    /// <inheritdoc/>
    public void Dispose()
    {
        Dispose(disposing: true);
        GC.SuppressFinalize(this);
    }

    /// <summary>Releases the cmdlet's resources.</summary>
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
            // Ctrl+C was pressed at the moment when the cmdlet ended and disposed its source.
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

    /// <summary>Runs once, before the first pipeline object.</summary>
    protected virtual void Begin()
    {
    }

    /// <summary>Runs for each pipeline object.</summary>
    protected virtual void Process()
    {
    }

    /// <summary>Runs once, after the last pipeline object.</summary>
    protected virtual void End()
    {
    }

    /// <summary>The pipeline object that is being processed, if errors should name it; null for
    /// none.</summary>
    private protected virtual object? RowObject => null;

    /// <summary>The current pipeline object and its position; null for none.</summary>
    private protected PipelineRow? CurrentRow => _inRow && RowObject is { } input ? new(_row, input) : null;

    /// <summary>Runs an action. An <see cref="RpcException"/> becomes a non-terminating error, so that the
    /// pipeline continues with its next object.</summary>
    /// <returns>Whether the action succeeded.</returns>
    protected bool Guard(object? target, Action action)
    {
        bool succeeded = Try(target, action);
        _ended?.Throw();
        return succeeded;
    }

    private bool Try(object? target, Action action)
    {
        PendingTrace? trace = IsDebug ? Store.Trace : null;
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

    /// <summary>The store of the cmdlet's runspace, looked up once: a short call asks for it five
    /// times.</summary>
    private protected RunspaceStore Store => _store ??= RunspaceStore.Current;

    /// <summary>Whether verbose lines are shown. Check this before gathering their text.</summary>
    private protected bool IsVerbose => _isVerbose ??= IsDebug || Shows("Verbose", "VerbosePreference");

    /// <summary>Whether debug lines are shown. Check this before tracing.</summary>
    private protected bool IsDebug => _isDebug ??= Shows("Debug", "DebugPreference");

    /// <summary>Writes the waiting log and trace lines of clients to the debug stream.</summary>
    private protected void WritePendingDebug()
    {
        if (!Stopping)
        {
            Store.DebugLog.WriteTo(WriteDebug);
        }
    }

    /// <summary>Writes the retries that other threads report, while the cmdlet waits for these
    /// threads.</summary>
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
            // The pipeline has stopped. Kept for later, because the caller treats an exception here as a
            // failure of the log, and continues.
            _ended = ExceptionDispatchInfo.Capture(e);
            StopProcessing();
        }
    }

    /// <summary>The cmdlet that the user invoked: this cmdlet, or the command that it is a part of.</summary>
    private protected virtual PSCmdlet Caller => this;

    private bool Shows(string parameter, string variable) => IsGiven(parameter)
        ?? (Caller.GetVariableValue(variable) is var value && value is ActionPreference preference
            ? preference
            : LanguagePrimitives.ConvertTo<ActionPreference>(value))
            is not (ActionPreference.SilentlyContinue or ActionPreference.Ignore);

    private bool? IsGiven(string name) =>
        Caller.MyInvocation.BoundParameters.TryGetValue(name, out object? given)
            ? LanguagePrimitives.IsTrue(given)
            : null;

    /// <summary>An argument without the shell's wrapper.</summary>
    private protected static object? Unwrap(object? value) =>
        value is PSObject wrapped ? wrapped.BaseObject : value;

    /// <summary>Ends the cmdlet with a terminating error.</summary>
    protected void Fail(RpcException exception, object? target = null) =>
        ThrowTerminatingError(Named(RpcErrors.ToRecord(exception, target)));

    /// <summary>Writes an error. Its text names the parameters of this cmdlet.</summary>
    protected new void WriteError(ErrorRecord record) => base.WriteError(Named(record));

    private ErrorRecord Named(ErrorRecord record)
    {
        ParameterWording.NameParameters(record, Caller.MyInvocation.MyCommand);
        return record;
    }

    /// <summary>Writes a warning. The text may quote a peer or a schema, so control characters are
    /// neutralized.</summary>
    protected new void WriteWarning(string text) => base.WriteWarning(TerminalText.Neutralize(text));

    /// <summary>Writes a verbose line. The text may quote a peer or a schema, so control characters are
    /// neutralized.</summary>
    protected new void WriteVerbose(string text)
    {
        // With -Debug and without -Verbose, the shell asks after each verbose line whether to continue.
        if (IsGiven("Debug") == true && IsGiven("Verbose") is null)
        {
            WriteDebug(text);
        }
        else
        {
            base.WriteVerbose(TerminalText.Neutralize(text));
        }
    }

    /// <summary>Writes a debug line. The text may quote a peer or a schema, so control characters are
    /// neutralized.</summary>
    protected new void WriteDebug(string text) => base.WriteDebug(TerminalText.Neutralize(text));

    /// <summary>The items with the given ids; an id without an item is an error.</summary>
    internal IReadOnlyList<T> WithIds<T>(IReadOnlyList<T> all, int[] ids, Func<T, int> idOf, string kind)
    {
        HashSet<int> known = [.. all.Select(idOf)];
        foreach (int id in ids.Where(id => !known.Contains(id)))
        {
            RpcException missing = new(
                RpcStatusCode.NotFound,
                kind == "listener" ? RpcErrorIds.ListenerNotFound : RpcErrorIds.ConnectionNotFound,
                $"This runspace has no {kind} with the id {id}.");
            WriteError(RpcErrors.ToRecord(missing, id));
        }

        return [.. all.Where(item => ids.Contains(idOf(item)))];
    }

    /// <summary>The schema of an argument: an object, or the schema read from its files and
    /// servers.</summary>
    internal RpcSchema Resolve(RpcSchemaSource source) =>
        source.Schema ?? (source.Import is { } parameters ? Import(parameters) : LoadSchema(source.Paths));

    /// <summary>Like <see cref="Resolve"/>, but reuses the schema of the previous call if its files have not
    /// changed, or if it was fetched from a server in the last five minutes. Calls with the same schema share
    /// a kept connection.</summary>
    private protected RpcSchema ResolveKept(RpcSchemaSource source)
    {
        SchemaCache kept = Store.Schemas;
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

    /// <summary>Rejects a file to write that exists, also a link whose target is missing.</summary>
    private protected static void RequireNew(string path, bool force)
    {
        if (!force && (File.Exists(path) || new FileInfo(path).LinkTarget is not null))
        {
            throw new RpcException(
                RpcStatusCode.AlreadyExists, RpcErrorIds.FileExists,
                $"'{path}' exists. Use -Force to replace it.");
        }
    }

    private ClientKey ContactOf(string address)
    {
        RpcEndpoint endpoint = RpcSchemaLoader.EndpointOf(address);
        return ClientKey.Create(endpoint, schema: null, SchemaOptionsOf(endpoint));
    }

    /// <summary>Loads a schema from files and servers.</summary>
    private protected RpcSchema LoadSchema(IReadOnlyCollection<string> paths)
    {
        string[] addresses = [.. paths.Where(RpcSchemaLoader.IsAddress)];
        // The options are made for all servers first, because certificates are read relative to the shell's
        // current location.
        Dictionary<string, RpcClientOptions> options = addresses.Select(RpcSchemaLoader.EndpointOf)
            .DistinctBy(endpoint => endpoint.ToString())
            .ToDictionary(endpoint => endpoint.ToString(), SchemaOptionsOf);
        RpcSchema schema = RpcSchemaLoader.LoadAsync(
            [.. paths.Except(addresses).SelectMany(path => LocateSchema(path)), .. addresses],
            new RpcSchemaLoadOptions { BaseFolder = Folder },
            endpoint => options[endpoint.ToString()],
            Cancellation).GetAwaiter().GetResult();
        foreach (string warning in options.Count > 0 ? schema.Warnings : schema.Losses)
        {
            WriteWarning(ParameterWording.Rename(warning));
        }

        return schema;
    }

    /// <summary>The options for connecting to the server of a schema.</summary>
    private protected virtual RpcClientOptions SchemaOptionsOf(RpcEndpoint endpoint) => new();

    // Qualified by the module, because a script may define a function with the cmdlet's name.
    private RpcSchema Import(IDictionary parameters)
    {
        string[] settings = [.. RpcOption.NamesOf(typeof(RpcConnectionOption))];
        if (parameters.Keys.OfType<string>().FirstOrDefault(
            key => settings.Contains(key, StringComparer.OrdinalIgnoreCase)) is { } setting)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidSchemaSource,
                $"'{setting}' is a setting of the connection. In the hashtable of -Schema, write "
                + $"ConnectionOption = @{{ {setting} = ... }}.");
        }

        using System.Management.Automation.PowerShell shell =
            System.Management.Automation.PowerShell.Create(RunspaceMode.CurrentRunspace);
        try
        {
            shell.AddCommand($"{Caller.MyInvocation.MyCommand.ModuleName}\\Import-RpcSchema")
                .AddParameters(parameters)
                .AddParameter("ErrorAction", ActionPreference.Stop);
            return shell.Invoke<RpcSchema>() is [{ } only]
                ? only
                : throw new RpcException(
                    RpcStatusCode.InvalidArgument,
                    "The hashtable of -Schema must import one schema, but it imports several.");
        }
        catch (RuntimeException e) when (e.ErrorRecord.Exception is RpcException cause)
        {
            throw cause;
        }
        catch (Exception e) when (e is RuntimeException or ArgumentException)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidSchemaSource,
                $"A hashtable for -Schema has the parameters of Import-RpcSchema: {e.Message}", e);
        }
    }

    /// <summary>The folder that relative paths of files are relative to.</summary>
    private protected string Folder => Caller.SessionState.Path.CurrentFileSystemLocation.ProviderPath;

    /// <summary>Resolves a path to schema files by the rules of the shell. A path that means the same to .NET
    /// stays as it was given, relative to <see cref="Folder"/>: errors show it, and import paths are searched
    /// for it.</summary>
    /// <exception cref="RpcException">NotFound: the path is not on the file system.</exception>
    private protected IReadOnlyList<string> LocateSchema(string path, bool isLiteral = false)
    {
        IReadOnlyList<string> found = isLiteral ? [ResolveLiteral(path)] : ResolveFiles([path]);
        string given = isLiteral ? path : WildcardPattern.Unescape(path);
        return found is [{ } only] && only == Path.GetFullPath(given, Folder) ? [given] : found;
    }

    /// <summary>Resolves paths to files by the rules of the shell: relative to its location, with drives and
    /// wildcards.</summary>
    /// <returns>The files; for a path without a match the path itself, which the code that reads the files
    /// reports as missing.</returns>
    /// <exception cref="RpcException">NotFound: a path is not on the file system.</exception>
    protected IReadOnlyList<string> ResolveFiles(IEnumerable<string> paths)
    {
        List<string> files = [];
        foreach (string path in paths)
        {
            try
            {
                Collection<string> found = Caller.GetResolvedProviderPathFromPSPath(
                    path, out ProviderInfo provider);
                if (provider.Name != "FileSystem")
                {
                    throw RpcErrors.NotAFile(path, $"it is on the provider {provider.Name}");
                }

                // The shell does not report wildcards without a match, nor a missing file in '[x]'.
                files.AddRange(found.Count > 0 ? found : [ResolveLiteral(path)]);
            }
            catch (ItemNotFoundException)
            {
                // The code that reads the files reports which one is missing.
                files.Add(ResolveLiteral(path));
            }
            catch (SessionStateException e)
            {
                throw RpcErrors.NotAFile(path, e.Message.TrimEnd('.'), e);
            }
        }

        return files;
    }

    /// <summary>Resolves the path of one file or folder, which need not exist: relative to the shell's
    /// location, with drives, and without wildcards.</summary>
    /// <exception cref="RpcException">NotFound: the path is not on the file system.</exception>
    internal string ResolveLiteral(string path)
    {
        try
        {
            string full = Caller.SessionState.Path.GetUnresolvedProviderPathFromPSPath(
                path, out ProviderInfo provider, out _);
            // On another provider, the result is no path of a file. .NET would take it as relative to the
            // folder that the process was started in.
            return provider.Name == "FileSystem" ? full : throw RpcErrors.NotOnFileSystem(path, provider);
        }
        catch (Exception e) when (e is SessionStateException or PSInvalidOperationException)
        {
            throw RpcErrors.NotAFile(path, e.Message.TrimEnd('.'), e);
        }
    }
}

/// <summary>A pipeline object, for the errors that it causes.</summary>
/// <param name="Number">The position in the pipeline, counted from 1, like the rows of a table below its
/// header.</param>
/// <param name="Input">The object.</param>
internal sealed record PipelineRow(long Number, object Input);
