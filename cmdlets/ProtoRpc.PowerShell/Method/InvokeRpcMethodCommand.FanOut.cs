using System.Management.Automation;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Method.FanOut;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc;

// Several calls at the same time, or a job of them.
public sealed partial class InvokeRpcMethodCommand
{
    private readonly List<FanOutCall> _jobCalls = [];
    private readonly Dictionary<RpcConnection, RpcException> _unreached = [];
    private FanOut? _fanOut;

    // Several calls at the same time; without, each waits for the one before.
    private bool FansOut => AsJob || Connection is { Length: > 1 }
        || MyInvocation.BoundParameters.ContainsKey(nameof(ThrottleLimit));

    // Of lazy connections, at the same time as well; what fails is told when the connection's turn comes.
    private void FetchSchemas()
    {
        RpcConnection[] unknown =
        [
            .. (Connection ?? []).Distinct().Where(
                connection => connection is { IsOpen: true, Schema: null }
                    && connection.Endpoint.Has(EndpointFeatures.Reflection)),
        ];
        if (unknown.Length < 2)
        {
            return;
        }

        RpcCallOptions options = Options(info: null);
        Parallel.ForEach(
            unknown, new ParallelOptions { MaxDegreeOfParallelism = ThrottleLimit }, connection =>
        {
            try
            {
                connection.Client.FetchSchema(options, Cancellation);
            }
            catch (RpcException e)
            {
                lock (_unreached)
                {
                    _unreached[connection] = e;
                }
            }
        });
    }

    private void StartCall(RpcConnection connection)
    {
        if (_unreached.TryGetValue(connection, out RpcException? failure))
        {
            throw failure;
        }

        FanOutCall call = new(
            connection, ParameterSetName == ByBytes ? ExecuteOver(connection) : InvokeOver(connection),
            CurrentRow);
        if (AsJob)
        {
            _jobCalls.Add(call);
            return;
        }

        _fanOut ??= new FanOut(ThrottleLimit, WriteResult, NewProgress("Calling"), Cancellation);
        _fanOut.Start(call);
    }

    private void FinishCalls()
    {
        if (AsJob)
        {
            RpcCallJob job = new(MyInvocation.Line.Trim(), Title("Calling"), _jobCalls, Tagged);
            JobRepository.Add(job);
            job.Start(ThrottleLimit);
            WriteObject(job);
        }

        _fanOut?.Finish();
    }

    private Func<CancellationToken, IAsyncEnumerable<object>> ExecuteOver(RpcConnection connection)
    {
        RpcRawClient client = connection.Raw;
        return cancellation => OneOf(client.ExecuteAsync(Bytes, WaitForReady, Deadline, cancellation));
    }

    private Func<CancellationToken, IAsyncEnumerable<object>> InvokeOver(RpcConnection connection)
    {
        RpcMethodInfo method = FindMethod(connection, out RpcClient client);
        if (ResponseHeadersVariable is not null
            || TrailersVariable is not null
            || ResponseExtensionsVariable is not null
            || (IsFed && method.IsClientStreaming))
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                "Calls at the same time have no common headers, trailers, extensions or stream of requests. "
                + "Leave out -ThrottleLimit, -AsJob and all but one -Connection, "
                + "or -ResponseHeadersVariable, -TrailersVariable and -ResponseExtensionsVariable; "
                + "the messages of a stream can be given as a list with -Message.")
            {
                ErrorId = RpcErrorIds.NotForManyCalls,
            };
        }

        List<DynamicMessage> requests = [.. Requests(method).Select(message => ToRequest(method, message))];
        RpcCallOptions options = Options(info: null, method: method);
        return method.IsUnary
            ? cancellation => OneOf(client.InvokeAsync(method, requests[0], options, cancellation))
            : cancellation => client.InvokeStreamAsync(
                method, requests.ToAsyncEnumerable(), options, cancellation);
    }

    private static async IAsyncEnumerable<object> OneOf<T>(Task<T> reply)
        where T : class
    {
        yield return await reply.ConfigureAwait(false);
    }

    private void WriteResult(FanOutResult result)
    {
        if (result.Error is { } error)
        {
            WriteError(RpcErrors.ToRecord(error, result.Connection, result.Row));
        }
        else
        {
            WriteObject(Tagged(result, WriteWarning));
        }
    }

    // As Invoke-Command does with PSComputerName, so that one knows who answered.
    // Null, which a Value may hold, has no place for that.
    private PSObject? Tagged(FanOutResult result, Action<string> warn)
    {
        DynamicMessage? message = result.Reply as DynamicMessage;
        if (message is not null)
        {
            CheckSchema(message, result.Connection.Endpoint, warn);
        }

        object? reply = message is not null && !Raw ? Mapper.ToObject(message) : result.Reply;
        if (reply is null)
        {
            return null;
        }

        PSObject tagged = PSObject.AsPSObject(reply);
        if (tagged.Properties[EndpointTag.PropertyName] is null)
        {
            tagged.Properties.Add(new EndpointTag(result.Connection.Endpoint));
        }

        return tagged;
    }
}
