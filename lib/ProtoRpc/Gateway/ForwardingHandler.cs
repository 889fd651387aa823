using System.Runtime.ExceptionServices;
using Google.Protobuf;
using ProtoRpc.Client;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Server;

namespace ProtoRpc.Gateway;

/// <summary>Passes the calls of methods on to another server.</summary>
/// <param name="client">Who calls that server.</param>
/// <param name="options">What is forwarded; null for the defaults.</param>
/// <param name="isForAll">Whether it handles any method, so that a method which the client cannot
/// call is rejected when it is called.</param>
internal sealed class ForwardingHandler(RpcClient client, RpcGatewayOptions? options, bool isForAll)
    : RpcMethodHandler
{
    private readonly RpcGatewayOptions _options = (options ?? new RpcGatewayOptions()).Copy();
    private readonly HeaderRule _rule = new((options ?? new RpcGatewayOptions()).Copy());

    /// <inheritdoc/>
    internal override ServerMethod Bind(RpcMethodInfo method)
    {
        RequireSame(method);
        if (!CanCall(method))
        {
            RpcException refusal = Refusal(method);
            return isForAll
                ? new ServerMethod(method, (RpcServerCallContext _, RpcServerStream _) => throw refusal)
                : throw refusal;
        }

        return new ServerMethod(method, InvokeAsync, StreamAsync) { TakesBytes = true, GivesBytes = true };
    }

    private bool CanCall(RpcMethodInfo method) =>
        (!method.IsClientStreaming || client.Endpoint.Has(EndpointFeatures.RequestStreams))
        && (!method.IsServerStreaming || client.Endpoint.Has(EndpointFeatures.ReplyStreams));

    // Of a caller that holds its own thread, which is cheaper than coming back on another.
    private ValueTask<IMessage> InvokeAsync(RpcServerCallContext context, IMessage request) =>
        Thread.CurrentThread.IsThreadPoolThread || context.Body is not null
            ? InvokeLaterAsync(context, request)
            : new(Invoke(context, request));

    private IMessage Invoke(RpcServerCallContext context, IMessage request)
    {
        ForwardedCall call = new(context, client, _rule, _options.MaxHops);
        try
        {
            return client.Forward(
                context.Method, Owned(context, request), ReaderOf(context), call.Options,
                context.Clock.Aborted);
        }
        catch (Exception e) when (ForwardedFailure.IsOfClient(e, client))
        {
            throw ForwardedFailure.Of(e, client, context.Method);
        }
        finally
        {
            call.Return();
        }
    }

    private async ValueTask<IMessage> InvokeLaterAsync(RpcServerCallContext context, IMessage request)
    {
        ForwardedCall call = new(context, client, _rule, _options.MaxHops);
        CancellationToken end = context.Clock.Aborted;
        try
        {
            return context.Body is { } body && client.Endpoint.Has(EndpointFeatures.Parts)
                ? await client.ForwardAsync(context.Method, body, call.Options, end).ConfigureAwait(false)
                : await client.ForwardAsync(context.Method, Owned(context, request), call.Options, end)
                    .ConfigureAwait(false);
        }
        catch (Exception e) when (ForwardedFailure.IsOfClient(e, client))
        {
            throw ForwardedFailure.Of(e, client, context.Method);
        }
        finally
        {
            call.Return();
        }
    }

    private async ValueTask StreamAsync(RpcServerCallContext context, RpcServerStream stream)
    {
        ForwardedCall call = new(context, client, _rule, _options.MaxHops);
        using CancellationTokenSource end =
            CancellationTokenSource.CreateLinkedTokenSource(context.Clock.Aborted);
        ExceptionDispatchInfo? ofCaller;
        try
        {
            await using RpcStreamingCall<object, IMessage> next = await client
                .OpenForwardAsync(context.Method, call.Options, end.Token).ConfigureAwait(false);
            ForwardedStream forwarded = new(stream, next, client, end);
            call.Response.Began = () =>
            {
                call.ReturnHeaders();
                forwarded.Begin();
            };
            ofCaller = await forwarded.RunAsync(call.ReturnHeaders).ConfigureAwait(false);
        }
        catch (Exception e) when (ForwardedFailure.IsOfClient(e, client))
        {
            throw ForwardedFailure.Of(e, client, context.Method);
        }
        finally
        {
            call.Return();
        }

        ofCaller?.Throw();
    }

    // A native endpoint has written the reply when the call ends, and keeps nothing of it.
    private ReplyReader<IMessage> ReaderOf(RpcServerCallContext context)
    {
        RpcMessageInfo type = context.Method.ReplyType;
        if (context.Endpoint.Kind.Protocol != EndpointProtocol.Native)
        {
            return body => client.Owned(context.Method, body);
        }

        ForwardedReply reply = new();
        context.Held = reply;
        return body => reply.Keep(type, client.ToBinary(context.Method, body).Span);
    }

    // What came over a native connection lies in its buffer, which the next call uses again; HTTP clients may
    // write a request even after its call was given up. What came in parts is as long as it may be here.
    private IMessage Owned(RpcServerCallContext context, IMessage request)
    {
        if (context.Body is { } body)
        {
            MessageChecks.RequireSize(
                (int)Math.Min(int.MaxValue, body.Length), client.MaxMessageBytes, "request");
            byte[] whole = new byte[body.Length];
            body.ReadExactly(whole);
            return new OpaqueMessage(context.Method.RequestType, whole);
        }

        return request is OpaqueMessage opaque && client.Endpoint.IsGrpc
            && context.Endpoint.Kind.Protocol == EndpointProtocol.Native
                ? new OpaqueMessage(opaque.Type, opaque.Bytes.ToArray())
                : request;
    }

    private void RequireSame(RpcMethodInfo method)
    {
        if (client.Schema is not { } schema)
        {
            return;
        }

        // By full name: the schemas of both sides may be of different origin.
        RpcMethodInfo theirs = schema.GetMethod(method.FullName);
        if (theirs.RequestType.FullName != method.RequestType.FullName
            || theirs.ReplyType.FullName != method.ReplyType.FullName
            || theirs.IsClientStreaming != method.IsClientStreaming
            || theirs.IsServerStreaming != method.IsServerStreaming)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"The schema of the connection to '{client.Endpoint}' declares {method.FullName} with other "
                + "messages or streams. Use one schema for the gateway and the connection.")
            {
                ErrorId = RpcErrorIds.InvalidHandler,
                Endpoint = client.Endpoint,
                MethodName = method.FullName,
            };
        }
    }

    private RpcException Refusal(RpcMethodInfo method) => new(
        RpcStatusCode.Unimplemented,
        $"{method.FullName} streams, but the gateway's connection to '{client.Endpoint}' cannot. "
        + $"Connect to a {EndpointKinds.SchemesWith(EndpointFeatures.RequestStreams)} "
        + "endpoint of the service.")
    {
        ErrorId = RpcErrorIds.GatewayCannotStream,
        Endpoint = client.Endpoint,
        MethodName = method.FullName,
        IsForwarded = true,
    };
}
