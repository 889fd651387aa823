using System.Runtime.CompilerServices;

namespace ProtoRpc;

/// <summary>The one exception of ProtoRpc: a call, a schema, a message or an endpoint that failed.</summary>
public sealed class RpcException : Exception
{
    private readonly string? _errorId;

    /// <summary>Makes an exception of a status and a message that says what is wrong,
    /// where, and what to do.</summary>
    /// <remarks>Messages are shown in terminals and logs and may quote a peer, so control characters are
    /// written by their number (<see cref="TerminalText"/>).</remarks>
    public RpcException(RpcStatusCode code, string message, Exception? innerException = null)
        : this(code, message, innerException, isByProtoRpc: false)
    {
    }

    // The compiler takes this one wherever it is visible, which is in ProtoRpc's own assemblies.
    [OverloadResolutionPriority(1)]
    internal RpcException(
        RpcStatusCode code, string message, Exception? innerException = null, bool isByProtoRpc = true)
        : base(TerminalText.Neutralize(message), innerException)
    {
        Code = code;
        IsByProtoRpc = isByProtoRpc;
    }

    /// <summary>The status of the call.</summary>
    public RpcStatusCode Code { get; }

    /// <summary>The stable id that scripts test; <c>RpcStatus.&lt;Code&gt;</c> unless set.</summary>
    public string ErrorId
    {
        get => _errorId ?? RpcErrorIds.OfStatus(Code);
        init => _errorId = value;
    }

    /// <summary>The endpoint that was called or bound; null for none.</summary>
    public RpcEndpoint? Endpoint { get; set; }

    /// <summary>The full name of the called method; null for none.</summary>
    public string? MethodName { get; set; }

    /// <summary>The path of the field at fault (<c>SearchRequest.results[3].url</c>),
    /// for errors in messages.</summary>
    public string? FieldPath { get; init; }

    /// <summary>The exception of the server's handler, as the server sent it.</summary>
    public RpcRemoteException? Remote { get; init; }

    /// <summary>The id under which the server logs the exception that it did not send; null for
    /// none.</summary>
    public string? CorrelationId { get; init; }

    /// <summary>The DCE/RPC fault status or the interface's return code, 0 where there was none.</summary>
    public uint NativeStatus { get; init; }

    /// <summary>False when the call surely did not run on the server, so that it may be sent again.</summary>
    public bool MayHaveExecuted { get; init; }

    /// <summary>The details of the status, decoded if their type is known: messages, or objects in
    /// PowerShell. Empty for none.</summary>
    public IReadOnlyList<object> Details { get; set; } = Array.Empty<object>();

    /// <summary>What a handler adds to the RpcExceptionInfo of the native protocol: in C# a
    /// <c>google.protobuf.rpc_messages.RpcExceptionInfo</c> with extensions of the service's schema, in a
    /// shell a hashtable with their names, <c>[package.name]</c>. Clients receive those that their schema
    /// declares. Null if there are none, and on HTTP and gRPC endpoints, which do not send
    /// them.</summary>
    public object? Extensions { get; set; }

    /// <summary>Trailers of the reply.</summary>
    public IReadOnlyDictionary<string, string> Trailers
    {
        get;
        init => field = TerminalText.Neutralize(value);
    }
    = new Dictionary<string, string>();

    /// <summary>Whether a server said it, and not something on the way to it.</summary>
    internal bool IsAnswer { get; init; }

    /// <summary>Whether another server said it to a gateway, which passes it on.</summary>
    internal bool IsForwarded { get; init; }

    /// <summary>Whether <see cref="ErrorId"/> was set.</summary>
    internal bool HasOwnErrorId => _errorId is not null;

    /// <summary>Whether ProtoRpc wrote the text, and not an application.</summary>
    internal bool IsByProtoRpc { get; }
}
