using System.Runtime.CompilerServices;

namespace ProtoRpc;

/// <summary>The exception of ProtoRpc for errors of calls, schemas, messages and endpoints.</summary>
public sealed class RpcException : Exception
{
    private readonly string? _errorId;

    /// <summary>Creates an exception with a status and a message that says what is wrong, where, and what to
    /// do.</summary>
    /// <remarks>The message is shown in terminals and logs and may quote a peer. So control characters are
    /// replaced by their numbers (<see cref="TerminalText"/>).</remarks>
    public RpcException(RpcStatusCode code, string message, Exception? innerException = null)
        : this(code, message, innerException, isByProtoRpc: false)
    {
    }

    // The compiler prefers this constructor where it is visible, which is in ProtoRpc's own assemblies.
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

    /// <summary>The stable error id for scripts; <c>RpcStatus.&lt;Code&gt;</c> unless set.</summary>
    public string ErrorId
    {
        get => _errorId ?? RpcErrorIds.OfStatus(Code);
        init => _errorId = value;
    }

    /// <summary>The endpoint that was called or bound; null for none.</summary>
    public RpcEndpoint? Endpoint { get; set; }

    /// <summary>The full name of the called method; null for none.</summary>
    public string? MethodName { get; set; }

    /// <summary>The path of the invalid field (<c>SearchRequest.results[3].url</c>), for errors in
    /// messages.</summary>
    public string? FieldPath { get; init; }

    /// <summary>The exception of the server's handler, if the server sent it.</summary>
    public RpcRemoteException? Remote { get; init; }

    /// <summary>The id of the exception in the server's log, if the server did not send its text; otherwise
    /// null.</summary>
    public string? CorrelationId { get; init; }

    /// <summary>The DCE/RPC fault status or the interface's return code; 0 if there is none.</summary>
    public uint NativeStatus { get; init; }

    /// <summary>Whether the call may have run on the server. If false, it can be sent again.</summary>
    public bool MayHaveExecuted { get; init; }

    /// <summary>The details of the status: messages, or objects in PowerShell, decoded if their type is
    /// known. Empty for none.</summary>
    public IReadOnlyList<object> Details { get; set; } = Array.Empty<object>();

    /// <summary>The extensions that a handler adds to the native protocol's RpcExceptionInfo; null for none.
    /// In C#, a <c>google.protobuf.rpc_messages.RpcExceptionInfo</c> with extensions of the service's schema;
    /// in a shell, a hashtable by name, <c>[package.name]</c>. Clients receive the extensions that their
    /// schema declares. Not sent on HTTP and gRPC endpoints.</summary>
    public object? Extensions { get; set; }

    /// <summary>The trailers of the reply.</summary>
    public IReadOnlyDictionary<string, string> Trailers
    {
        get;
        init => field = TerminalText.Neutralize(value);
    }
    = new Dictionary<string, string>();

    /// <summary>Whether a server returned the error, and not a proxy or the connection.</summary>
    internal bool IsAnswer { get; init; }

    /// <summary>Whether a gateway forwards the error of another server.</summary>
    internal bool IsForwarded { get; init; }

    /// <summary>How long to wait before the call is sent again, if a server or proxy was too busy and
    /// rejected the call before it ran; zero if it did not say how long, null for any other error.</summary>
    internal TimeSpan? RetryAfter { get; init; }

    /// <summary>Whether <see cref="ErrorId"/> was set.</summary>
    internal bool HasOwnErrorId => _errorId is not null;

    /// <summary>Whether ProtoRpc wrote the text, and not an application.</summary>
    internal bool IsByProtoRpc { get; }

    /// <summary>The same error of a message with another text, which says where the message comes from or
    /// what to do.</summary>
    internal RpcException WithText(string message) => new(Code, message, this)
    {
        ErrorId = ErrorId,
        FieldPath = FieldPath,
    };
}
