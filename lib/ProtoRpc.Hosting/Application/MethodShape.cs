using System.Reflection;
using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Hosting.Application;

/// <summary>What a method of a class must look like to handle a method of a service.</summary>
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

    /// <summary>A method as it is written in C#.</summary>
    public static string Write(MethodInfo method) =>
        $"{Write(method.ReturnType)} {method.Name}("
        + string.Join(", ", method.GetParameters().Select(p => $"{Write(p.ParameterType)} {p.Name}")) + ")";

    /// <summary>The method as it should be.</summary>
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
