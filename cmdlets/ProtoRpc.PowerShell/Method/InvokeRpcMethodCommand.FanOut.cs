using System.Management.Automation;
using ProtoRpc.PowerShell.Calls;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc;

// Several calls at the same time, or a job of them.
public sealed partial class InvokeRpcMethodCommand
{
    private readonly List<FanOutCall> _jobCalls = [];
    private readonly Dictionary<RpcConnection, RpcException> _unreached = [];
    private FanOut? _fanOut;
    private MessageMapper? _replies;
    private CallRows? _rows;

    // Several replies are shown as a table.
    private MessageMapper Replies => _replies ??= ShellMapper.Create(
        AsHashtable, makesRows: IsFed || FansOut || _stream is not null);

    // Several calls at the same time; without, each waits for the one before.
    private bool FansOut => AsJob || PassThruResult || Connection is { Length: > 1 } || Targets.Count > 1
        || IsGiven(nameof(ThrottleLimit));

    private void StartCalls()
    {
        if (ParameterSetName == ByEndpoint)
        {
            // Copied once for all endpoints, and only if a message is not made at once.
            Lazy<object?> kept = new(() => Snapshot(Request), LazyThreadSafetyMode.None);
            foreach (EndpointTarget target in Targets)
            {
                Guard(target.Name, () => StartCall(
                    new CallPlace(target.Name, target.Endpoint, target.Name), () => InvokeAt(target, kept)));
            }

            return;
        }

        FetchSchemas();
        foreach (RpcConnection? given in (IEnumerable<RpcConnection?>?)Connection ?? [null])
        {
            Guard(given, () =>
            {
                RpcConnection connection = Resolve(given);
                StartCall(CallPlace.Of(connection), () => RepliesOver(connection));
            });
        }
    }

    // Lazy connections connect at the same time, too. A failure is written when the turn of its
    // connection comes.
    private void FetchSchemas()
    {
        // A server that could not be reached for one message may be there for the next.
        _unreached.Clear();
        if (MethodOfCommand is not null)
        {
            return;
        }

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
            catch (OperationCanceledException) when (Cancellation.IsCancellationRequested)
            {
                // Thrown below: the loop would wrap it in an AggregateException, which nothing here expects.
            }
        });
        Cancellation.ThrowIfCancellationRequested();
    }

    private void StartCall(
        CallPlace place, Func<Func<CancellationToken, IAsyncEnumerable<object>>> prepare)
    {
        FanOutCall call;
        try
        {
            call = new(place, prepare(), CurrentRow);
        }
        catch (RpcException e) when (PassThruResult)
        {
            // Each endpoint has a row, even if it cannot be called.
            call = FanOutCall.Failed(place, e);
        }

        if (PassThruResult)
        {
            _rows ??= new CallRows(Tagged);
            call = _rows.RowOf(call);
        }

        if (AsJob)
        {
            _jobCalls.Add(call);
            return;
        }

        _fanOut ??= new FanOut(ThrottleLimit, WriteResult, NewProgress("Calling"), Cancellation)
        {
            Total = IsFed ? null : Math.Max(Targets.Count, Connection?.Length ?? 1),
        };
        _fanOut.Start(call);
    }

    private void FinishCalls()
    {
        if (AsJob)
        {
            RpcCallJob job = new(
                Caller.MyInvocation.Line.Trim(), Title("Calling"), _jobCalls, Tagged, CompleteRows);
            Caller.JobRepository.Add(job);
            job.Start(ThrottleLimit);
            WriteObject(job);
            return;
        }

        _fanOut?.Finish();
        CompleteRows();
    }

    private void CompleteRows()
    {
        if (_rows is not null)
        {
            _rows.Summary.IsComplete = true;
        }
    }

    private Func<CancellationToken, IAsyncEnumerable<object>> RepliesOver(RpcConnection connection) =>
        _unreached.TryGetValue(connection, out RpcException? failure) ? throw failure
            : ParameterSetName == ByBytes ? ExecuteOver(connection)
            : InvokeOver(connection);

    private Func<CancellationToken, IAsyncEnumerable<object>> ExecuteOver(RpcConnection connection)
    {
        RpcRawClient client = connection.Raw;
        return cancellation => OneOf(client.ExecuteAsync(Bytes, RawOptions(), cancellation));
    }

    private Func<CancellationToken, IAsyncEnumerable<object>> InvokeOver(RpcConnection connection)
    {
        RpcMethodInfo method = FindMethod(connection, out RpcClient client);
        CheckCommonParts(method);
        List<DynamicMessage> requests = RequestsOf(method, Request);
        RpcCallOptions options = Options(info: null, method: method);
        return method.IsUnary
            ? cancellation => OneOf(client.InvokeAsync(method, requests[0], options, cancellation))
            : cancellation => client.InvokeStreamAsync(
                method, requests.ToAsyncEnumerable(), options, cancellation);
    }

    private void CheckCommonParts(RpcMethodInfo? method = null)
    {
        if (ResponseHeadersVariable is not null
            || TrailersVariable is not null
            || ResponseExtensionsVariable is not null
            || (IsFed && method is { IsClientStreaming: true }))
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                "Parallel calls cannot share response headers, trailers, extensions or a request stream. "
                + "Remove -ThrottleLimit, -AsJob, -PassThruResult and all but one connection or endpoint, "
                + "or -ResponseHeadersVariable, -TrailersVariable and -ResponseExtensionsVariable. "
                + "Give the messages of a request stream as a list with -Message.")
            {
                ErrorId = RpcErrorIds.NotForManyCalls,
            };
        }
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
            WriteError(RpcErrors.ToRecord(error, result.Place.Target, result.Row));
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
        if (result.Reply is RpcCallResult row)
        {
            row.Warnings.ForEach(warn);
            return PSObject.AsPSObject(row);
        }

        RpcEndpoint endpoint = result.Place.Endpoint!;
        DynamicMessage? message = result.Reply as DynamicMessage;
        if (message is not null)
        {
            CheckSchema(message, endpoint, warn);
        }

        object? reply = message is not null && !Raw ? Replies.ToObject(message) : result.Reply;
        if (reply is null)
        {
            return null;
        }

        PSObject tagged = PSObject.AsPSObject(reply);
        if (tagged.Properties[EndpointTag.PropertyName] is null)
        {
            tagged.Properties.Add(new EndpointTag(endpoint));
        }

        return tagged;
    }
}
