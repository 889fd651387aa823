using System.Collections;
using System.Management.Automation;
using ProtoRpc.PowerShell.Handlers;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc.PowerShell.Parameters;

/// <summary>Converts a script's value for a method to a handler. A script block runs, a message or a list of
/// messages is the reply, and a connection forwards the call.</summary>
/// <remarks>To add a kind of handler, add a line to <see cref="ToHandler"/>, which every cmdlet with handlers
/// uses.</remarks>
/// <param name="environment">What script blocks use of the caller's session.</param>
/// <param name="pool">Runs script blocks.</param>
/// <param name="gateway">What connections forward; null for the defaults.</param>
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
        new(RpcStatusCode.InvalidArgument, message) { ErrorId = RpcErrorIds.InvalidHandler };

    private static RpcClient ClientOf(RpcConnection connection) => connection.IsOpen
        ? connection.Client
        : throw new RpcException(
            RpcStatusCode.FailedPrecondition,
            $"Nothing can be forwarded: the connection to '{connection}' {connection.ClosedText}")
        {
            ErrorId = RpcErrorIds.ClientClosed,
            Endpoint = connection.Endpoint,
        };

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
            ? RpcMethodHandler.Of((context, request) => pool.HandleAsync(context, request, script))
            : RpcMethodHandler.OfStreams((context, stream) => pool.HandleAsync(context, stream, script));
    }
}
