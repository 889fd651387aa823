using System.Collections.Concurrent;
using System.Diagnostics;
using Google.Protobuf;
using ProtoRpc.Calls.Headers;
using ProtoRpc.Schema;
using ProtoRpc.Transports;

namespace ProtoRpc.Calls.Native;

/// <summary>Calls services over DCE/RPC: each service is an interface with connections of its own.</summary>
internal sealed class NativeChannel(RpcEndpoint endpoint, RpcLimits limits) : IRpcChannel
{
    private const int MessageIdBytes = 16;

    private readonly ConcurrentDictionary<string, Guid> _interfaceIds = new(StringComparer.Ordinal);
    private readonly Dictionary<Guid, NativeClient> _clients = [];
    private readonly Lock _gate = new();
    private bool _disposed;

    /// <summary>Connects and binds to a service's interface.</summary>
    /// <param name="service">The service.</param>
    /// <param name="interfaceId">Null for the service's own id.</param>
    /// <param name="cancellation">Gives up.</param>
    public void Bind(RpcServiceInfo service, Guid? interfaceId, CancellationToken cancellation)
    {
        _interfaceIds[service.FullName] = interfaceId ?? service.InterfaceId;
        ClientOf(service, cancellation);
    }

    public TReply Invoke<TReply>(CallSpec call, IMessage request, ReplyReader<TReply> read, CancellationToken cancellation)
    {
        RefuseStreams(call.Method);
        using NativeExchange exchange = ClientOf(call.Method.Service, cancellation).Begin(cancellation);
        ByteString id = WriteRequest(exchange, call.Method.Name, request, call.Timeout);
        int code = exchange.Execute(call.Timeout, cancellation);
        return ReadReply(exchange, id, code, call.Method.FullName, read);
    }

    public async Task<TReply> InvokeAsync<TReply>(
        CallSpec call, IMessage request, ReplyReader<TReply> read, CancellationToken cancellation)
    {
        RefuseStreams(call.Method);
        using NativeExchange exchange = ClientOf(call.Method.Service, cancellation).Begin(cancellation);
        ByteString id = WriteRequest(exchange, call.Method.Name, request, call.Timeout);
        int code = await exchange.ExecuteAsync(call.Timeout, cancellation).ConfigureAwait(false);
        return ReadReply(exchange, id, code, call.Method.FullName, read);
    }

    public RpcPingResult Ping(RpcServiceInfo? service, TimeSpan timeout, CancellationToken cancellation)
    {
        if (service is null)
        {
            return Probe(timeout, cancellation);
        }

        using NativeExchange exchange = ClientOf(service, cancellation).Begin(cancellation);
        long start = Stopwatch.GetTimestamp();
        ByteString id = WriteRequest(exchange, BuiltInMethods.Ping, new RpcPingRequest(), timeout);
        int code = exchange.Execute(timeout, cancellation);
        TimeSpan latency = Stopwatch.GetElapsedTime(start);
        RpcPingResponse reply = ReadReply(exchange, id, code, $"{service.FullName}/{BuiltInMethods.Ping}", ParsePing);
        ServerFacts? facts = reply.GetExtension(ProtorpcTransportExtensions.ServerFacts);
        return new RpcPingResult(
            endpoint,
            latency,
            facts?.Product ?? "",
            facts?.Version ?? "",
            facts is null ? Array.Empty<string>() : facts.Services.ToArray(),
            facts is null ? null : TimeSpan.FromMilliseconds(facts.UptimeMs));
    }

    public void Dispose()
    {
        lock (_gate)
        {
            _disposed = true;
            foreach (NativeClient client in _clients.Values)
            {
                client.Dispose();
            }

            _clients.Clear();
        }
    }

    // A server that refuses an interface that nobody serves is a server.
    private RpcPingResult Probe(TimeSpan timeout, CancellationToken cancellation)
    {
        long start = Stopwatch.GetTimestamp();
        try
        {
            RpcLimits within = limits with { ConnectTimeout = timeout };
            NativeClient.Connect(endpoint, Guid.NewGuid(), within, cancellation).Dispose();
        }
        catch (RpcException e) when (e.Code == RpcStatusCode.Unimplemented)
        {
        }

        return new RpcPingResult(endpoint, Stopwatch.GetElapsedTime(start), "", "", Array.Empty<string>(), null);
    }

    private static RpcPingResponse ParsePing(ReadOnlySpan<byte> body) =>
        RpcPingResponse.Parser.WithExtensionRegistry(NativeHeaders.Extensions).ParseFrom(body);

    private void RefuseStreams(RpcMethodInfo method)
    {
        if (!method.IsUnary)
        {
            throw NativeStreaming.Refusal(method, endpoint);
        }
    }

    // One client for each interface id; connecting under the lock keeps two first calls from connecting twice.
    private NativeClient ClientOf(RpcServiceInfo service, CancellationToken cancellation)
    {
        Guid id = _interfaceIds.GetOrAdd(service.FullName, static (_, s) => s.InterfaceId, service);
        lock (_gate)
        {
            ObjectDisposedException.ThrowIf(_disposed, this);
            if (!_clients.TryGetValue(id, out NativeClient? client))
            {
                client = NativeClient.Connect(endpoint, id, limits, cancellation);
                _clients.Add(id, client);
            }

            return client;
        }
    }

    private ByteString WriteRequest(NativeExchange exchange, string method, IMessage request, TimeSpan timeout)
    {
        MessageChecks.RequireSize(request, limits.MaxMessageBytes, "request");
        Span<byte> id = stackalloc byte[MessageIdBytes];
        Guid.NewGuid().TryWriteBytes(id);
        RpcRequestHeader header = new()
        {
            MethodName = method,
            MessageId = ByteString.CopyFrom(id),
            CallContext = new Headers.RpcCallContext(),
        };
        if (timeout != Timeout.InfiniteTimeSpan)
        {
            header.SetExtension(
                ProtorpcTransportExtensions.TimeoutMs, (uint)Math.Clamp(timeout.TotalMilliseconds, 1, uint.MaxValue));
        }

        NativeHeaders.Write(exchange.Request, header, request);
        return header.MessageId;
    }

    // In the original's order: the id first, then the exception, then success and the body.
    private static TReply ReadReply<TReply>(
        NativeExchange exchange, ByteString id, int code, string method, ReplyReader<TReply> read)
    {
        if (code != 0)
        {
            (RpcStatusCode status, string meaning) = RpcStatusTable.OfNativeStatus((uint)code);
            throw new RpcException(status, $"{method} ended with return code 0x{code:X8}: {meaning}.")
            {
                NativeStatus = (uint)code,
                MayHaveExecuted = true,
            };
        }

        RpcResponseHeader header = NativeHeaders.Read(
            NativeHeaders.ResponseParser, exchange.Reply.Span, out ReadOnlySpan<byte> body);
        if (header.Exception is not null || !header.Success)
        {
            throw Failure(header, method);
        }

        if (header.MessageId != id)
        {
            throw new RpcException(
                RpcStatusCode.Internal, $"The reply to {method} carries the id of another call; the connection is not to be trusted.")
            {
                ErrorId = "BadHeader",
                MayHaveExecuted = true,
            };
        }

        return read(body);
    }

    private static RpcException Failure(RpcResponseHeader header, string method)
    {
        RpcExceptionInfo info = header.Exception ?? new RpcExceptionInfo();
        RpcRemoteException remote = ExceptionInfoCodec.Decode(info);
        RpcStatusCode code = header.HasExtension(ProtorpcTransportExtensions.StatusCode)
            ? (RpcStatusCode)header.GetExtension(ProtorpcTransportExtensions.StatusCode)
            : ExceptionInfoCodec.StatusOf(info);
        if (!Enum.IsDefined(code) || code == RpcStatusCode.OK)
        {
            code = RpcStatusCode.Unknown;
        }

        string message = remote.Message.Length > 0
            ? remote.Message
            : $"{method} failed on the server"
                + (remote.TypeName.Length > 0 ? $" with {remote.TypeName}" : "") + "; the server tells no more.";
        return new RpcException(code, message) { Remote = remote, MayHaveExecuted = true };
    }
}
