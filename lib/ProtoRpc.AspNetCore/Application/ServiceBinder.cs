using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using System.Runtime.CompilerServices;
using Google.Protobuf.Reflection;
using Microsoft.Extensions.DependencyInjection;
using ProtoRpc.Server;

namespace ProtoRpc.AspNetCore.Application;

/// <summary>Finds the methods of a class that handle the methods of a service.</summary>
internal static class ServiceBinder
{
    private const string AsyncEnding = "Async";

    /// <exception cref="RpcException">InvalidArgument: the class lacks a method, has it with other types, or
    /// has it twice; the message contains the required method.</exception>
    public static ServerService Bind(
        [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicMethods)] Type type,
        RpcServiceInfo service,
        MessageTypes messages,
        Guid? interfaceId)
    {
        MethodInfo[] all = type.GetMethods(BindingFlags.Public | BindingFlags.Instance);
        ServerService bound = new(service, interfaceId ?? service.InterfaceId);
        List<string> failures = [];
        foreach (RpcMethodInfo method in service.Methods)
        {
            MethodShape shape = new(method, messages);
            MethodInfo[] named = Named(all, method.Name);
            BoundMethod[] fitting =
                [.. named.Select(candidate => shape.TryBind(type, candidate)).OfType<BoundMethod>()];
            if (fitting is [{ } only])
            {
                bound.Add(only.ToServerMethod());
                continue;
            }

            failures.Add(
                $"{method.FullName}: "
                + (named.Length == 0 ? "the class has no public method of that name"
                    : fitting.Length > 1 ? "several methods of the class match"
                    : $"'{MethodShape.Write(named[0])}' does not match")
                + $". Write '{shape}'; context and token are optional.");
        }

        return failures.Count == 0
            ? bound
            : throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"The class {type.FullName} cannot serve {service.FullName}. {string.Join(" ", failures)}");
    }

    private static MethodInfo[] Named(MethodInfo[] all, string name)
    {
        MethodInfo[] named = [.. all.Where(method => method.Name == name)];
        return named.Length > 0 ? named : [.. all.Where(method => method.Name == name + AsyncEnding)];
    }
}

/// <summary>The required form of a method of a class that handles a method of a service.</summary>
internal sealed class MethodShape(RpcMethodInfo method, MessageTypes messages)
{
    private static readonly Type[] Awaited = [typeof(Task<>), typeof(ValueTask<>)];

    /// <summary>Binds a method; null when it does not fit.</summary>
    public BoundMethod? TryBind(Type service, MethodInfo candidate)
    {
        ParameterInfo[] parameters = candidate.GetParameters();
        if (candidate.IsGenericMethodDefinition || parameters.Length is 0 or > 3
            || parameters.Any(parameter => parameter.ParameterType.IsByRef)
            || MessageIn(parameters[0].ParameterType, method.IsClientStreaming) is not { } request
            || !Fits(request, method.RequestType)
            || ReplyIn(candidate.ReturnType) is not { } reply
            || !Fits(reply, method.ReplyType))
        {
            return null;
        }

        Type[] others = [.. parameters.Skip(1).Select(parameter => parameter.ParameterType)];
        return others.Distinct().Count() == others.Length
            && others.All(t => t == typeof(RpcServerCallContext) || t == typeof(CancellationToken))
                ? new BoundMethod(method, service, candidate)
                {
                    RequestType = request,
                    ReplyType = reply,
                    Parser = messages.Find(request)?.Parser,
                    Others = others,
                }
                : null;
    }

    /// <summary>A method in the syntax of C#.</summary>
    public static string Write(MethodInfo method) =>
        $"{Write(method.ReturnType)} {method.Name}("
        + string.Join(", ", method.GetParameters().Select(p => $"{Write(p.ParameterType)} {p.Name}")) + ")";

    /// <summary>The required method.</summary>
    public override string ToString()
    {
        string request = NameOf(method.RequestType);
        string reply = NameOf(method.ReplyType);
        return (method.IsServerStreaming ? $"IAsyncEnumerable<{reply}>" : $"Task<{reply}>")
            + $" {method.Name}("
            + (method.IsClientStreaming ? $"IAsyncEnumerable<{request}> requests" : $"{request} request")
            + $", {nameof(RpcServerCallContext)} context, CancellationToken cancellationToken)";
    }

    private static string Write(Type type) =>
        type == typeof(void) ? "void"
        : type.IsGenericType
            ? $"{type.Name.Split('`')[0]}<{string.Join(", ", type.GetGenericArguments().Select(Write))}>"
            : type.Name;

    private static Type? MessageIn(Type type, bool isStream) =>
        !isStream ? type
        : type.IsGenericType && type.GetGenericTypeDefinition() == typeof(IAsyncEnumerable<>)
            ? type.GetGenericArguments()[0]
            : null;

    private string NameOf(RpcMessageInfo message) =>
        messages.TypeOf(message.FullName)?.Name ?? nameof(DynamicMessage);

    private Type? ReplyIn(Type type)
    {
        if (method.IsServerStreaming)
        {
            return MessageIn(type, isStream: true);
        }

        return type.IsGenericType && Awaited.Contains(type.GetGenericTypeDefinition())
            ? type.GetGenericArguments()[0]
            : type;
    }

    private bool Fits(Type type, RpcMessageInfo message) =>
        type == typeof(DynamicMessage) || type == typeof(IMessage)
        || (messages.Find(type) is MessageDescriptor found && found.FullName == message.FullName);
}

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

    /// <summary>The parameters after the request.</summary>
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

            // The interface is covariant, so this cast works for every type of reply.
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
