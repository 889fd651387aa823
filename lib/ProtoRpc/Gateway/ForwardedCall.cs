using System.Diagnostics;
using System.Globalization;
using Google.Protobuf;
using ProtoRpc.Protocols;
using ProtoRpc.Protocols.Headers;
using ProtoRpc.Protocols.Native;

namespace ProtoRpc.Gateway;

/// <summary>What goes beside the messages of a call that passes a gateway, there and back.</summary>
internal readonly struct ForwardedCall
{
    // The longest time of a timer, which is as good as no limit.
    private static readonly TimeSpan LongestWait = TimeSpan.FromDays(30);

    private static readonly RpcCallContext NoContext = new();

    private readonly RpcServerCallContext _context;
    private readonly HeaderRule _rule;
    private readonly Guid _client;

    /// <param name="context">The call as it came.</param>
    /// <param name="client">Who makes the next one.</param>
    /// <param name="rule">Which headers pass.</param>
    /// <param name="maxHops">How many gateways a call may pass.</param>
    /// <exception cref="RpcException">FailedPrecondition: the call has passed too many gateways;
    /// PermissionDenied: it names somebody else's session.</exception>
    public ForwardedCall(RpcServerCallContext context, RpcClient client, HeaderRule rule, int maxHops)
    {
        _context = context;
        _rule = rule;
        _client = client.Key;
        Response = new RpcResponseInfo();
        bool isEndless =
            context.Deadline is not { } deadline || deadline - DateTimeOffset.UtcNow > LongestWait;
        bool isFirstHop = !context.MayHaveHeaders && !client.IsSeen
            && client.Endpoint.Kind.Protocol == EndpointProtocol.Native;
        Options = new RpcCallOptions
        {
            Deadline = isEndless ? null : context.Deadline,
            Timeout = isEndless && context.Deadline is not null ? Timeout.InfiniteTimeSpan : null,
            Headers = isFirstHop ? null : HeadersOf(client, maxHops),
            IsFirstHop = isFirstHop,
            Extensions =
                client.Endpoint.Has(EndpointFeatures.HeaderExtensions) ? context.FoundExtensions : null,
            Context = ContextOf(),
            Response = Response,
        };
    }

    /// <summary>How the next call is made.</summary>
    public RpcCallOptions Options { get; }

    /// <summary>What comes beside the replies.</summary>
    public RpcResponseInfo Response { get; }

    private string SessionKey => $"protorpc.gateway.{_client:N}";

    /// <summary>Gives the caller what came before the replies.</summary>
    public void ReturnHeaders()
    {
        if (Response.Headers.Count > 0)
        {
            _rule.Copy(Response.Headers, _context.ResponseHeaders);
            Response.Headers = new RpcMetadata();
        }
    }

    /// <summary>Gives the caller what came beside the replies, also of a call that failed.</summary>
    public void Return()
    {
        ReturnHeaders();
        if (Response.Trailers.Count > 0)
        {
            _rule.Copy(Response.Trailers, _context.ResponseTrailers);
        }

        if (Response.Extensions is { } extensions && extensions.CalculateSize() > 0)
        {
            _context.ResponseExtensions = extensions;
        }

        if (Response.Context is { } changed)
        {
            Return(changed);
        }
    }

    private RpcMetadata HeadersOf(RpcClient client, int maxHops)
    {
        RpcMetadata received = _context.RequestHeaders;
        RpcMetadata headers = new();
        int hops = 0;
        if (received.Count > 0)
        {
            hops = HopsOf(received);
            _rule.Copy(received, headers);
            if (Activity.Current is not null)
            {
                // The next call is part of this gateway's activity, which is part of the caller's.
                TraceContext.Remove(headers);
            }
        }

        if (hops >= maxHops)
        {
            throw new RpcException(
                RpcStatusCode.FailedPrecondition,
                $"The call of {_context.Method.FullName} has passed {hops} gateways and would go on to "
                + $"'{client.Endpoint}'. Check whether gateways forward to each other, or to themselves; "
                + $"{nameof(RpcGatewayOptions)}.{nameof(RpcGatewayOptions.MaxHops)} is the limit.")
            {
                ErrorId = RpcErrorIds.GatewayLoop,
                IsForwarded = true,
            };
        }

        headers.Add(HeaderRule.Hops, (hops + 1).ToString(CultureInfo.InvariantCulture));
        return headers;
    }

    // What cannot be read is not from a gateway.
    private static int HopsOf(RpcMetadata headers) =>
        int.TryParse(
            headers.GetText(HeaderRule.Hops), NumberStyles.None, CultureInfo.InvariantCulture, out int hops)
            ? hops
            : 0;

    // The other server's session is kept in the caller's session here, so that only its caller can use it.
    private RpcCallContext ContextOf()
    {
        if (_context.ReceivedContext is not { } received)
        {
            return NoContext;
        }

        if (!received.HasSessionId)
        {
            return received;
        }

        RpcCallContext sent = received.Clone();
        sent.ClearSessionId();
        if (_context.HasSessions && _context.FindSession()?[SessionKey] is byte[] id)
        {
            sent.SessionId = ByteString.CopyFrom(id);
        }

        return sent;
    }

    private void Return(RpcCallContext changed)
    {
        if (changed.HasSessionId)
        {
            if (_context.HasSessions)
            {
                _context.Session[SessionKey] = changed.SessionId.ToByteArray();
            }

            changed.ClearSessionId();
        }

        _context.CallContext = SideChannel.ToDynamic(
            changed, _context.Method.Service.Schema, _context.Limits.MaxMessageElements);
    }
}
