using System.Reflection;
using System.Runtime.CompilerServices;
using Google.Protobuf;
using Microsoft.Extensions.DependencyInjection;
using ProtoRpc.Server;

namespace ProtoRpc.Hosting.Application;

/// <summary>A method of a class that handles a method of a service.</summary>
internal sealed class BoundMethod(RpcMethodInfo info, Type service, MethodInfo method)
{
    private const BindingFlags Own = BindingFlags.NonPublic | BindingFlags.Static;

    private readonly MethodInvoker _invoker = MethodInvoker.Create(method);

    /// <summary>The type of one request.</summary>
    public required Type RequestType { get; init; }

    /// <summary>The type of one reply.</summary>
    public required Type ReplyType { get; init; }

    /// <summary>Reads requests of a generated type; null for dynamic ones.</summary>
    public required MessageParser? Parser { get; init; }

    /// <summary>The parameters behind the request.</summary>
    public required Type[] Others { get; init; }

    public ServerMethod ToServerMethod()
    {
        if (info.IsUnary)
        {
            Func<object, ValueTask<IMessage>> reply = ReplyOf();
            return new ServerMethod(
                info, (RpcHandler)((context, request) => reply(Call(context, request))), Parser);
        }

        Func<IAsyncEnumerable<IMessage>, object>? requests = info.IsClientStreaming
            ? typeof(BoundMethod).GetMethod(nameof(Cast), Own)!.MakeGenericMethod(RequestType)
                .CreateDelegate<Func<IAsyncEnumerable<IMessage>, object>>()
            : null;
        if (!info.IsServerStreaming)
        {
            Func<object, ValueTask<IMessage>> reply = ReplyOf();
            return new ServerMethod(
                info,
                async (context, stream) => await stream.WriteAsync(
                    await reply(Call(
                        context, requests!(stream.ReadAllAsync(context.CancellationToken))))
                        .ConfigureAwait(false)).ConfigureAwait(false),
                Parser);
        }

        return new ServerMethod(info, StreamAsync, Parser);

        async ValueTask StreamAsync(RpcServerCallContext context, RpcServerStream stream)
        {
            object? request = requests is null
                ? await stream.ReadAsync().ConfigureAwait(false)
                : requests(stream.ReadAllAsync(context.CancellationToken));
            if (request is null)
            {
                return;
            }

            // Of any type of messages: the interface is covariant.
            IAsyncEnumerable<IMessage> replies = (IAsyncEnumerable<IMessage>)Call(context, request);
            await foreach (IMessage reply in replies
                .WithCancellation(context.CancellationToken).ConfigureAwait(false))
            {
                await stream.WriteAsync(reply).ConfigureAwait(false);
            }
        }
    }

    private object Call(RpcServerCallContext context, object request)
    {
        object instance = context.Services!.GetRequiredService(service);
        object? result = Others.Length switch
        {
            0 => _invoker.Invoke(instance, request),
            1 => _invoker.Invoke(instance, request, Argument(0)),
            _ => _invoker.Invoke(instance, request, Argument(0), Argument(1)),
        };
        return result ?? throw new RpcException(
            RpcStatusCode.Internal, $"{service.FullName}.{method.Name} returned null; return a message.");

        object Argument(int index) =>
            Others[index] == typeof(CancellationToken) ? context.CancellationToken : context;
    }

    private Func<object, ValueTask<IMessage>> ReplyOf()
    {
        Type given = method.ReturnType;
        return !given.IsGenericType ? static result => new((IMessage)result)
            : (given.GetGenericTypeDefinition() == typeof(Task<>)
                ? typeof(BoundMethod).GetMethod(nameof(OfTask), Own)!.MakeGenericMethod(ReplyType)
                : typeof(BoundMethod).GetMethod(nameof(OfValueTask), Own)!.MakeGenericMethod(ReplyType))
                .CreateDelegate<Func<object, ValueTask<IMessage>>>();
    }

    private static async ValueTask<IMessage> OfTask<TReply>(object result)
        where TReply : class, IMessage =>
        await ((Task<TReply>)result).ConfigureAwait(false);

    private static async ValueTask<IMessage> OfValueTask<TReply>(object result)
        where TReply : class, IMessage =>
        await ((ValueTask<TReply>)result).ConfigureAwait(false);

    private static async IAsyncEnumerable<TRequest> CastAll<TRequest>(
        IAsyncEnumerable<IMessage> requests,
        [EnumeratorCancellation] CancellationToken cancellation = default)
        where TRequest : class, IMessage
    {
        await foreach (IMessage request in requests.WithCancellation(cancellation).ConfigureAwait(false))
        {
            yield return (TRequest)request;
        }
    }

    private static object Cast<TRequest>(IAsyncEnumerable<IMessage> requests)
        where TRequest : class, IMessage => CastAll<TRequest>(requests);
}
