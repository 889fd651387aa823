using ProtoRpc.Protocols.Grpc.Proto;
using ProtoRpc.Transports;

namespace ProtoRpc.Client.Grpc;

/// <summary>Asks a server's reflection service: version 1, or v1alpha if version 1 is not served.</summary>
/// <remarks>Servers may end the stream after a reply, with or without an error. It is then opened
/// again.</remarks>
internal sealed class ReflectionStream(GrpcChannel channel, CallClock clock) : IAsyncDisposable
{
    /// <summary>The start of the names of reflection services.</summary>
    public const string OwnPackage = "grpc.reflection.";

    // How many repeated replies to earlier questions are skipped.
    private const int MaxRepeated = 100;

    private static readonly string[] Versions = ["v1", "v1alpha"];

    private readonly HashSet<ServerReflectionRequest> _asked = [];
    private readonly List<RpcException> _refusals = [];
    private GrpcCall? _call;
    private int _version;
    private bool _isServed;
    private bool _isFresh;

    /// <summary>Asks a question.</summary>
    /// <exception cref="RpcException">Unimplemented: the server has no reflection service. Internal: it ends
    /// the stream before it replies. Also the status of a server that cannot be reached or rejects the
    /// caller.</exception>
    public async Task<ReflectionAnswer> AskAsync(ServerReflectionRequest question)
    {
        while (true)
        {
            _isFresh |= _call is null;
            _call ??= new GrpcCall(
                channel, $"{OwnPackage}{Versions[_version]}.ServerReflection/ServerReflectionInfo",
                clock, null, only: null, streamsRequests: true);
            try
            {
                await _call.SendAsync(question, compress: true).ConfigureAwait(false);
                if (await ReadAsync(question).ConfigureAwait(false) is { } reply)
                {
                    _isServed = true;
                    _isFresh = false;
                    return new ReflectionAnswer(reply, reply.ErrorResponse?.ErrorMessage);
                }

                await CloseAsync().ConfigureAwait(false);
                if (_isFresh)
                {
                    // This question was the first on its stream, so asking again on a new stream would not
                    // help.
                    return _isServed
                        ? new ReflectionAnswer(null, "The server ended the stream instead of answering.")
                        : throw Nonsense("it ended the stream before it replied");
                }
            }
            catch (RpcException e) when (!_isServed && IsRefusal(e))
            {
                await CloseAsync().ConfigureAwait(false);
                _refusals.Add(e);
                if (++_version == Versions.Length)
                {
                    throw Refused();
                }
            }
            catch (RpcException e) when (_isServed && !IsFinal(e))
            {
                await CloseAsync().ConfigureAwait(false);
                if (_isFresh)
                {
                    return new ReflectionAnswer(null, e.Message);
                }
            }
        }
    }

    /// <summary>Ends the stream.</summary>
    public async Task CompleteAsync()
    {
        if (_call is { } call)
        {
            await call.CompleteAsync().ConfigureAwait(false);
        }
    }

    /// <summary>The error for a reflection service that cannot be used.</summary>
    public RpcException Nonsense(string what, string? said = null, Exception? inner = null) => new(
        RpcStatusCode.Internal, RpcErrorIds.BadReflection,
        $"The reflection service of '{channel.Endpoint}' cannot be used: {what}"
        + $"{(said is null ? "" : $" (its error: {said})")}. "
        + "Give a schema: its .proto files or a descriptor set.", channel.Endpoint, inner);

    public ValueTask DisposeAsync() => CloseAsync();

    // Null if the stream has ended.
    private async Task<ServerReflectionResponse?> ReadAsync(ServerReflectionRequest question)
    {
        for (int repeated = 0; await _call!.ReadAsync().ConfigureAwait(false); repeated++)
        {
            ServerReflectionResponse reply;
            try
            {
                reply = ServerReflectionResponse.Parser.ParseFrom(_call.Current.Bytes);
            }
            catch (InvalidProtocolBufferException e)
            {
                throw Nonsense($"its reply cannot be read ({e.Message})", inner: e);
            }

            // A server may reply to one question twice.
            bool isEarlier = reply.OriginalRequest is { } original && !original.Equals(question)
                && _asked.Contains(original);
            if (!isEarlier)
            {
                _asked.Add(question);
                return reply;
            }

            if (repeated == MaxRepeated)
            {
                throw Nonsense("it answers earlier questions again and again");
            }
        }

        return null;
    }

    private async ValueTask CloseAsync()
    {
        if (_call is { } call)
        {
            _call = null;
            await call.DisposeAsync().ConfigureAwait(false);
        }
    }

    // A proxy that supports only one version rejects the other itself, for example with HTTP 404.
    private static bool IsRefusal(RpcException e) =>
        e.Code == RpcStatusCode.Unimplemented || e.ErrorId == RpcErrorIds.NotGrpc;

    private RpcException Refused() => _refusals.TrueForAll(e => e.ErrorId == RpcErrorIds.NotGrpc)
        ? _refusals[0]
        : new RpcException(
            RpcStatusCode.Unimplemented, RpcErrorIds.NoReflection,
            $"'{channel.Endpoint}' has no reflection service. "
            + "Give a schema: its .proto files or a descriptor set.", channel.Endpoint, _refusals[^1]);

    // Asking the other version would fail in the same way.
    private static bool IsFinal(RpcException e) =>
        e.ErrorId == RpcErrorIds.BadReflection
        || e.Code is RpcStatusCode.DeadlineExceeded or RpcStatusCode.Cancelled
            or RpcStatusCode.Unauthenticated
        || (e.Code == RpcStatusCode.Unavailable && !e.IsAnswer);
}

/// <summary>A reply of a reflection service.</summary>
/// <param name="Reply">The reply; null if the call failed.</param>
/// <param name="Error">The error; null for none.</param>
internal sealed record ReflectionAnswer(ServerReflectionResponse? Reply, string? Error);
