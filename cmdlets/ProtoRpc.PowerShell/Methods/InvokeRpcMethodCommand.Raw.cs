using System.Globalization;

namespace ProtoRpc;

// The part for raw connections, which have no methods: bytes in, bytes out.
public sealed partial class InvokeRpcMethodCommand
{
    private MemoryStream? _joined;
    private byte[]? _requestBytes;

    private bool IsRawCall => Method.Length == 0;

    // The target object of errors.
    private string? Target => IsRawCall ? null : Method;

    private byte[] RequestBytes => _requestBytes ?? ToBytes(Request);

    // PowerShell sends the elements of an array one by one, so numbers from the pipeline are parts of one
    // request. Set-Content -AsByteStream joins them in the same way.
    private void ProcessBytes()
    {
        _requestBytes = null;
        if (IsFed && Unwrap(Request) is not IList)
        {
            JoinBytes(Request);
        }
        else
        {
            CallWithBytes();
        }
    }

    private void JoinBytes(object? part)
    {
        try
        {
            if (_joined is null)
            {
                // Before the conversion, which would report a forgotten -Method as wrong bytes.
                foreach (RpcConnection? given in (IEnumerable<RpcConnection?>?)Connection ?? [null])
                {
                    _ = Checked(Resolve(given)).Raw;
                }

                _joined = new MemoryStream();
            }

            _joined.Write(ToBytes(part));
        }
        catch (RpcException e)
        {
            // Without this part, the request would be incomplete, so nothing is sent.
            Fail(e, part);
        }
    }

    private void CallWithJoinedBytes()
    {
        if (_joined is not null)
        {
            _requestBytes = _joined.ToArray();
            CallWithBytes();
        }
    }

    private void CallWithBytes()
    {
        if (FansOut)
        {
            StartCalls();
        }
        else
        {
            Guard(null, () => WriteObject(Execute(Checked(Resolve(Connection?[0])).Raw)));
        }
    }

    // With a verbose line when the call has ended.
    private byte[] Execute(RpcRawClient client)
    {
        byte[] request = RequestBytes;
        RpcReplyInfo? info = IsVerbose ? new RpcReplyInfo() : null;
        BeginReport(client.InterfaceId.ToString(), client.Endpoint, info);
        return Reported(() => client.Execute(request, RawOptions(info), Cancellation));
    }

    // A copy, because the call is made later and the script may reuse its array for the next request. All
    // connections share it.
    private Func<CancellationToken, IAsyncEnumerable<object>> ExecuteOver(RpcConnection connection)
    {
        RpcRawClient client = Checked(connection).Raw;
        byte[] request = _requestBytes ??= [.. RequestBytes];
        RpcCallOptions options = RawOptions();
        return cancellation => OneOf(client.ExecuteAsync(request, options, cancellation));
    }

    private RpcCallOptions RawOptions(RpcReplyInfo? info = null) => new()
    {
        Timeout = Deadline,
        Retry = OfCall?.Retry,
        WaitForReady = WaitsForReady,
        ReplyInfo = info,
    };

    private static byte[] ToBytes(object? request)
    {
        try
        {
            return Unwrap(request) switch
            {
                null => throw NotBytes(
                    "A raw call requires the bytes of the request: -Message 1, 2, 3, or -Message @() for an "
                    + "empty request."),
                byte[] bytes => bytes,
                object value => (byte[])LanguagePrimitives.ConvertTo(
                    value, typeof(byte[]), CultureInfo.InvariantCulture),
            };
        }
        catch (PSInvalidCastException e)
        {
            throw NotBytes($"The request of a raw call must be bytes, such as 1, 2, 3: {e.Message}", e);
        }
    }

    private static RpcException NotBytes(string message, Exception? cause = null) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.WrongRequest, message, cause);
}
