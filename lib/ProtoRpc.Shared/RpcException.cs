using System.Runtime.CompilerServices;
using System.Text;

namespace ProtoRpc;

/// <summary>The exception of ProtoRpc for errors of calls, schemas, messages and endpoints.</summary>
/// <example><code>
/// try
/// {
///     await client.InvokeAsync("Place", new { order = new { name = "o1" } });
/// }
/// catch (RpcException e) when (e.ErrorId == RpcErrorIds.UnknownField)
/// {
///     Console.WriteLine($"There is no field {e.FieldPath}.");
/// }
/// </code></example>
public sealed class RpcException : Exception
{
    private readonly string? _errorId;
    private bool _mayHaveExecuted;

    /// <summary>Creates an exception with a status and a message. The message should say what failed, where,
    /// and what to do.</summary>
    /// <remarks>The message is shown in terminals and logs and may quote a peer. So control characters are
    /// replaced by their numbers (<see cref="TerminalText"/>).</remarks>
    public RpcException(RpcStatusCode code, string message, Exception? innerException = null)
        : this(code, message, innerException, isByProtoRpc: false)
    {
    }

    // The priority makes the compiler select this constructor in ProtoRpc's own assemblies, where it is
    // visible.
    [OverloadResolutionPriority(1)]
    internal RpcException(
        RpcStatusCode code, string message, Exception? innerException = null, bool isByProtoRpc = true)
        : base(TerminalText.Neutralize(message), innerException)
    {
        Code = code;
        IsByProtoRpc = isByProtoRpc;
    }

    internal RpcException(
        RpcStatusCode code, string message, RpcEndpoint? endpoint, Exception? innerException = null)
        : this(code, message, innerException, isByProtoRpc: true) => Endpoint = endpoint;

    internal RpcException(
        RpcStatusCode code, string errorId, string message, RpcEndpoint? endpoint,
        Exception? innerException = null)
        : this(code, errorId, message, innerException) => Endpoint = endpoint;

    internal RpcException(
        RpcStatusCode code, string errorId, string message, Exception? innerException = null)
        : this(code, message, innerException, isByProtoRpc: true) => _errorId = errorId;

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

    /// <summary>The path of the invalid field of a message (<c>SearchRequest.results[3].url</c>).</summary>
    public string? FieldPath { get; init; }

    /// <summary>The exception of the server's handler, if the server sent it.</summary>
    public RpcRemoteException? Remote { get; init; }

    /// <summary>The id of the exception in the server's log; null if the server sent its text.</summary>
    public string? CorrelationId { get; init; }

    /// <summary>The DCE/RPC fault status or the interface's return code; 0 if there is none.</summary>
    public uint NativeStatus { get; init; }

    /// <summary>Whether the call may have run on the server. If false, it can be sent again.</summary>
    public bool MayHaveExecuted
    {
        get => _mayHaveExecuted;
        init => _mayHaveExecuted = value;
    }

    /// <summary>How many attempts the call made, of which this is the failure of the last. A pass over
    /// several servers is one attempt.</summary>
    public int Attempts { get; internal set; } = 1;

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

    /// <summary>Whether replies arrived before the error, so that the call is not retried.</summary>
    internal bool HasReplies { get; init; }

    /// <summary>The ways to authenticate that the server accepts, if it rejected a call without any of them;
    /// otherwise none.</summary>
    internal CallerProofs Accepted { get; set; }

    /// <summary>Whether a gateway forwards the error of another server.</summary>
    internal bool IsForwarded { get; init; }

    /// <summary>How long to wait before the call is sent again, if a server or proxy was too busy and
    /// rejected the call before it ran; zero if it did not say how long, null for any other error.</summary>
    internal TimeSpan? RetryAfter { get; init; }

    /// <summary>How long a server or proxy asks to wait before the call is sent again, although the call may
    /// have run; negative if it asks not to send it again. Null if it does not say.</summary>
    internal TimeSpan? Pushback { get; init; }

    /// <summary>Whether the caller of a server made the error: the method does not exist, the caller may not
    /// call it, or its request is not valid.</summary>
    internal bool IsOfCaller { get; set; }

    /// <summary>Whether <see cref="ErrorId"/> was set.</summary>
    internal bool HasOwnErrorId => _errorId is not null;

    /// <summary>Whether ProtoRpc wrote the text, and not an application.</summary>
    internal bool IsByProtoRpc { get; }

    /// <summary>Records that an earlier attempt of the call may have run.</summary>
    internal void AddExecuted() => _mayHaveExecuted = true;

    /// <summary>The same error with a text that names the source of the message.</summary>
    internal RpcException WithText(string message) => new(Code, message, this)
    {
        ErrorId = ErrorId,
        FieldPath = FieldPath,
    };
}

/// <summary>An exception of a server's handler, as the server sent it. Control characters in its texts are
/// replaced by their numbers, because shells show the texts (<see cref="TerminalText"/>).</summary>
/// <param name="TypeName">The exception's full type name on the server, or empty if it was not sent.</param>
/// <param name="AssemblyName">The assembly that declares it there, or empty.</param>
/// <param name="Message">The exception's message, or empty if it was not sent.</param>
public sealed record RpcRemoteException(string TypeName, string AssemblyName, string Message)
{
    /// <inheritdoc cref="RpcRemoteException(string, string, string)" path="/param[@name='TypeName']"/>
    public string TypeName { get; init => field = TerminalText.Neutralize(value); } =
        TerminalText.Neutralize(TypeName);

    /// <inheritdoc cref="RpcRemoteException(string, string, string)" path="/param[@name='AssemblyName']"/>
    public string AssemblyName { get; init => field = TerminalText.Neutralize(value); } =
        TerminalText.Neutralize(AssemblyName);

    /// <inheritdoc cref="RpcRemoteException(string, string, string)" path="/param[@name='Message']"/>
    public string Message { get; init => field = TerminalText.Neutralize(value); } =
        TerminalText.Neutralize(Message);

    /// <summary>The stack trace on the server, empty unless the server sends full details.</summary>
    public string StackTrace { get; init => field = TerminalText.Neutralize(value); } = "";

    /// <summary>The exception's HResult on the server, 0 if it was not sent.</summary>
    public int HResult { get; init; }

    /// <summary>The name of the program or object that raised the exception, or empty.</summary>
    public string Source { get; init => field = TerminalText.Neutralize(value); } = "";

    /// <summary>A help link, or empty.</summary>
    public string HelpLink { get; init => field = TerminalText.Neutralize(value); } = "";

    /// <summary>Further members of the exception by name, as text.</summary>
    public IReadOnlyDictionary<string, string> Data
    {
        get;
        init => field = TerminalText.Neutralize(value);
    }
    = new Dictionary<string, string>();

    /// <summary>The inner exception.</summary>
    public RpcRemoteException? Inner { get; init; }

    /// <summary>All received details, as .NET writes an exception:
    /// the outer one first, then its inner exceptions.</summary>
    public override string ToString()
    {
        StringBuilder text = new();
        Append(text);
        return text.ToString();
    }

    private void Append(StringBuilder text)
    {
        text.Append(TypeName.Length > 0 ? TypeName : "An exception").Append(": ").Append(Message);
        if (Inner is not null)
        {
            text.AppendLine().Append(" ---> ");
            Inner.Append(text);
            text.AppendLine().Append("   --- end of the inner exception ---");
        }

        if (StackTrace.Length > 0)
        {
            text.AppendLine().Append(StackTrace);
        }

        foreach ((string name, string value) in Data)
        {
            text.AppendLine().Append("   ").Append(name).Append(" = ").Append(value);
        }
    }
}

/// <summary>The types of server exceptions that a client recreates as <see cref="Exception.InnerException"/>
/// of the RpcException. A type must derive from Exception, and have a constructor with a message. No other
/// type that a server names is used.</summary>
public enum RpcExceptionTypes
{
    /// <summary>No types: server exceptions are only data.</summary>
    None = 0,

    /// <summary>Types of the runtime's core library.</summary>
    CoreLibrary = 1,

    /// <summary>Types of assemblies that this process has already loaded.</summary>
    LoadedAssemblies = 2,

    /// <summary>Like <see cref="LoadedAssemblies"/>, and loads an assembly with a strong name if the server
    /// names it. No code of it runs before the type is known to be an exception. Use it only with trusted
    /// servers.</summary>
    LoadStrongNamed = 3,

    /// <summary>Like <see cref="LoadStrongNamed"/>, and loads any assembly that the server names. Use it only
    /// with trusted servers.</summary>
    LoadAny = 4,
}

/// <summary>How much of an unexpected exception is sent to the caller.</summary>
/// <remarks>The text of an <see cref="RpcException"/> that a handler throws is sent at every level.</remarks>
public enum RpcErrorDetail
{
    /// <summary>That the call failed, and the correlation id of the exception in the server's log.</summary>
    None = 0,

    /// <summary>The exception's type, and the id.</summary>
    Type = 1,

    /// <summary>The exception's type and message.</summary>
    Message = 2,

    /// <summary>The message, stack traces and inner exceptions.</summary>
    Full = 3,
}
