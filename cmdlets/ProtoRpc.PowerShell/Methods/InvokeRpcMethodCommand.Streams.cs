using ProtoRpc.Client;
using ProtoRpc.PowerShell.Connections;

namespace ProtoRpc;

// The part for Open-RpcStream: a call that other cmdlets send to and receive from.
public sealed partial class InvokeRpcMethodCommand
{
    private bool? _isOneLinerOfStream;

    private bool IsOneLiner => _isOneLinerOfStream ?? ParameterSetName == ByEndpoint;

    /// <summary>The cmdlet for an Open-RpcStream that is running, which sets its parameters.</summary>
    /// <param name="command">The command.</param>
    /// <param name="isOneLiner">Whether <c>-Endpoint</c> was given.</param>
    internal static InvokeRpcMethodCommand ForStream(RpcCmdlet command, bool isOneLiner)
    {
        InvokeRpcMethodCommand cmdlet = new()
        {
            CommandRuntime = command.CommandRuntime,
            _command = command,
            _isOneLinerOfStream = isOneLiner,
            _givenToCommand = command.MyInvocation.BoundParameters.Keys.ToHashSet(
                StringComparer.OrdinalIgnoreCase),
        };
        cmdlet._stopping = command.PipelineStopToken.UnsafeRegister(
            static state => ((InvokeRpcMethodCommand)state!).StopProcessing(), cmdlet);
        return cmdlet;
    }

    /// <summary>Begins a call, and sends the messages of <c>-Message</c>.</summary>
    /// <param name="given">The connection; null for the only open one, or for <c>-Endpoint</c>.</param>
    /// <exception cref="RpcException">Why the call cannot begin, or a message cannot be sent.</exception>
    internal RpcStream OpenStream(RpcConnection? given)
    {
        if (IsOneLiner && Targets.Count > 1)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.NotForManyCalls,
                $"Open-RpcStream opens one stream, and -Endpoint names {Targets.Count} endpoints. Give "
                + "one of them.");
        }

        try
        {
            return BeginStream(given);
        }
        catch (RpcException e) when (RenewSchema(e))
        {
            return BeginStream(given);
        }
    }

    private RpcStream BeginStream(RpcConnection? given)
    {
        RpcConnection connection = Resolve(given);
        RpcMethodInfo method = FindMethod(connection, out RpcClient client);
        List<DynamicMessage> messages = Message is null ? [] : Requests.ReadAll(method, Message);
        RpcReplyInfo info = new();
        CancellationTokenSource end = new();
        RpcStreamingCall call;
        using (Cancellation.UnsafeRegister(static state => ((CancellationTokenSource)state!).Cancel(), end))
        {
            call = client.Open(method, Options(info, method: method), end.Token);
        }

        // The stream keeps the client of an endpoint, until the call has ended.
        PooledClient? owned = _kept;
        _kept = null;
        _keptConnection = null;
        StreamConversation talk = new(call, end, connection.Endpoint, info, owned);
        RpcStream stream = new(talk);
        try
        {
            Store.Add(talk);
            if (owned is null)
            {
                connection.Add(talk);
            }

            messages.ForEach(message => talk.Send(
                message, new StreamWait(Timeout.InfiniteTimeSpan, Cancellation)));
            Cancellation.ThrowIfCancellationRequested();
            return stream;
        }
        catch
        {
            stream.Dispose();
            throw;
        }
    }
}
