using ProtoRpc.PowerShell.Handlers;
using ProtoRpc.PowerShell.Objects;
using ProtoRpc.Schema;

namespace ProtoRpc;

/// <summary>The value of <c>-Handler</c>: handlers by method name, or one handler for all methods.</summary>
public sealed class RpcHandlerSource
{
    private readonly object? _value;

    /// <summary>A script block or a connection for all methods, or a dictionary of handlers by the bare or
    /// full names of methods: script blocks, replies or connections.</summary>
    public RpcHandlerSource(object value) => _value = HandlerValue.Bare(value);

    /// <summary>The connection that all methods are forwarded to; null for none.</summary>
    internal RpcConnection? Connection => _value as RpcConnection;

    /// <summary>Whether any method is forwarded.</summary>
    internal bool Forwards => _value is RpcConnection || (_value is IDictionary byMethod
        && byMethod.Values.Cast<object?>().Any(value => HandlerValue.Bare(value) is RpcConnection));

    /// <summary>The script block of a raw listener.</summary>
    /// <exception cref="RpcException">InvalidArgument: the value is not one script block.</exception>
    internal ScriptBlock RequireRaw() => _value as ScriptBlock ?? throw HandlerValue.Invalid(
        "-Handler of a raw listener (-InterfaceId without -Schema) must be one script block. To handle "
        + "methods by their names, give -Schema.");

    /// <summary>Creates the handlers by method.</summary>
    /// <exception cref="RpcException">A name is not a method, or a value cannot handle the method, and
    /// why.</exception>
    internal Dictionary<RpcMethodInfo, RpcMethodHandler> Resolve(
        IEnumerable<RpcServiceInfo> services, HandlerValue values)
    {
        List<RpcMethodInfo> methods = [.. services.SelectMany(service => service.Methods)];
        if (_value is ScriptBlock forAll)
        {
            // The handler finds the called method in $RpcMethod.
            return methods.ToDictionary(method => method, method => values.ToHandler(method, forAll));
        }

        if (Connection is { } connection)
        {
            RpcMethodHandler forwards = values.ForAll(connection);
            return methods.ToDictionary(method => method, _ => forwards);
        }

        if (_value is not IDictionary byMethod)
        {
            throw HandlerValue.Invalid(
                "-Handler must be a hashtable of handlers by method, @{ METHOD = { ... } }, or one script "
                + "block or connection for all methods.");
        }

        Dictionary<RpcMethodInfo, RpcMethodHandler> handlers = [];
        foreach (DictionaryEntry entry in byMethod)
        {
            RpcMethodInfo method = Find(methods, LanguagePrimitives.ConvertTo<string>(entry.Key));
            if (!handlers.TryAdd(method, values.ToHandler(method, entry.Value)))
            {
                throw HandlerValue.Invalid($"{method.FullName} has two handlers.");
            }
        }

        return handlers;
    }

    private static RpcMethodInfo Find(List<RpcMethodInfo> methods, string name)
    {
        List<RpcMethodInfo> found = methods.FindAll(method => Matches(method, name));
        return found.Count switch
        {
            1 => found[0],
            0 => throw SchemaError.NameNotFound(
                "method", name, [.. methods.Select(method => method.FullName)]),
            _ => throw SchemaError.Ambiguous("method", name, found.Select(method => method.FullName)),
        };
    }

    private static bool Matches(RpcMethodInfo method, string name) =>
        name.Equals(method.Name, StringComparison.OrdinalIgnoreCase)
        || name.Equals(method.FullName, StringComparison.OrdinalIgnoreCase)
        || name.Equals($"{method.Service.Name}/{method.Name}", StringComparison.OrdinalIgnoreCase)
        || name.Equals($"{method.Service.FullName}.{method.Name}", StringComparison.OrdinalIgnoreCase);
}

/// <summary>Converts a script's value for a method to a handler. A script block runs, a message or a list of
/// messages is the reply, and a connection forwards the call.</summary>
/// <remarks>To add a kind of handler, add a line to <see cref="ToHandler"/>, which every cmdlet with handlers
/// uses.</remarks>
/// <param name="environment">The parts of the caller's session that script blocks use.</param>
/// <param name="pool">Runs script blocks.</param>
/// <param name="gateway">The data of calls that connections forward; null for the defaults.</param>
internal sealed class HandlerValue(
    HandlerEnvironment environment, HandlerPool pool, RpcGatewayOptions? gateway = null)
{
    /// <summary>Creates the handler of a method.</summary>
    /// <param name="method">The method.</param>
    /// <param name="value">The script's value.</param>
    /// <exception cref="RpcException">InvalidArgument: the value cannot handle calls, or not of this method,
    /// and why.</exception>
    public RpcMethodHandler ToHandler(RpcMethodInfo method, object? value) => Bare(value) switch
    {
        ScriptBlock block => OfScript(method, block),
        null or string or bool or char or ValueType => throw Invalid(
            $"The handler of '{method.Name}' is neither a script block, nor a reply, nor a connection. Write "
            + $"{method.Name} = {{ ... }} to run a script, {method.Name} = @{{ ... }} for a reply that is "
            + "always the same."),
        IDictionary reply => OfReplies([reply]),
        RpcConnection connection => RpcGateway.Handler(ClientOf(connection), gateway),
        IEnumerable replies and not Google.Protobuf.IMessage => OfReplies(
            [.. replies.Cast<object?>().Select((reply, index) => reply ?? throw Invalid(
                $"Reply {index + 1} of '{method.Name}' is $null. Write @{{}} for an empty message."))]),
        Google.Protobuf.IMessage reply => OfReplies([reply]),
        _ => OfReplies([value!]),
    };

    /// <summary>Creates a handler that forwards all methods.</summary>
    /// <exception cref="RpcException">FailedPrecondition: the connection is closed, or is a raw
    /// connection.</exception>
    public RpcMethodHandler ForAll(RpcConnection connection) =>
        RpcGateway.HandlerOfAll(ClientOf(connection), gateway);

    /// <summary>The object itself, without the shell's wrapper.</summary>
    public static object? Bare(object? value) =>
        value is PSObject { BaseObject: not PSCustomObject } wrapped ? wrapped.BaseObject : value;

    /// <summary>The error for a value that cannot be a handler.</summary>
    public static RpcException Invalid(string message) =>
        new(RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidHandler, message);

    private static RpcClient ClientOf(RpcConnection connection) => connection.IsOpen
        ? connection.Client
        : throw new RpcException(
            RpcStatusCode.FailedPrecondition, RpcErrorIds.ClientClosed,
            $"Nothing can be forwarded: the connection to '{connection}' {connection.ClosedText}",
            connection.Endpoint);

    // Converted and checked in the caller's session; the workers only send them.
    private static RpcMethodHandler OfReplies(IEnumerable<object> replies) =>
        RpcMethodHandler.OfReplies(replies.Select(Message), ShellMapper.Create(asHashtable: false));

    private static object Message(object reply) =>
        Bare(reply) is Google.Protobuf.IMessage message ? message : reply;

    private RpcMethodHandler OfScript(RpcMethodInfo method, ScriptBlock block)
    {
        ScriptSource script = environment.Add(block);
        pool.Scripts.Add(script);
        return method.IsUnary
            ? RpcMethodHandler.Create((context, request) => pool.HandleAsync(context, request, script))
            : RpcMethodHandler.OfStreams((context, stream) => pool.HandleAsync(context, stream, script));
    }
}
