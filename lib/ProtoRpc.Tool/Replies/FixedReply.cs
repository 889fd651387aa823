using System.Text.RegularExpressions;
using ProtoRpc.Formats;

namespace ProtoRpc.Tool.Replies;

/// <summary>Replies that are given as JSON.</summary>
internal static class FixedReply
{
    /// <summary>Makes handlers that send them.</summary>
    /// <exception cref="RpcException">InvalidArgument: the text is not a reply of the method; the message
    /// contains the reason.</exception>
    public static Func<RpcMethodInfo, RpcMethodHandler> Parse(string json, string where) => method =>
        RpcMethodHandler.OfReplies(Read(method, json, where));

    /// <summary>Makes a handler that sends an empty message.</summary>
    public static RpcMethodHandler Empty(RpcMethodInfo method) =>
        RpcMethodHandler.OfReplies(new DynamicMessage(method.ReplyType));

    /// <summary>The replies.</summary>
    /// <inheritdoc cref="Parse"/>
    public static IReadOnlyList<object> Read(RpcMethodInfo method, string json, string where)
    {
        try
        {
            return JsonMessages.Read(method.ReplyType, json, method.IsServerStreaming);
        }
        catch (RpcException e)
        {
            throw e.WithText(
                $"{where} is not a {method.ReplyType.FullName}, the reply of {method.FullName}: {e.Message}");
        }
    }
}

/// <summary>Replies with the request's fields, if the reply has fields with the same name and type: once, or
/// for each request if both sides stream. For a stream of requests with one reply, the reply has the fields
/// of the last request.</summary>
internal static class EchoHandler
{
    public static RpcMethodHandler Create() => RpcMethodHandler.OfStreams(EchoAsync);

    private static async ValueTask EchoAsync(RpcServerCallContext context, RpcServerStream stream)
    {
        DynamicMessage? last = null;
        await foreach (IMessage request in stream.ReadAllAsync(context.CancellationToken))
        {
            last = Echo(context.Method, (DynamicMessage)request);
            if (context.Method.IsServerStreaming)
            {
                await stream.WriteAsync(last);
            }
        }

        if (!context.Method.IsServerStreaming)
        {
            await stream.WriteAsync(last ?? new DynamicMessage(context.Method.ReplyType));
        }
    }

    private static DynamicMessage Echo(RpcMethodInfo method, DynamicMessage request)
    {
        DynamicMessage reply = new(method.ReplyType);
        foreach (RpcFieldInfo field in method.RequestType.Fields)
        {
            RpcFieldInfo? target = method.ReplyType.FindField(field.Name);
            if (target is not null && HasSameType(field, target)
                && request.Has(field) && request.Get(field) is object value)
            {
                reply.Set(target, value);
            }
        }

        return reply;
    }

    private static bool HasSameType(RpcFieldInfo one, RpcFieldInfo other) =>
        one.Kind == other.Kind
        && one.IsRepeated == other.IsRepeated
        && one.IsMap == other.IsMap
        && one.TypeName == other.TypeName;
}

/// <summary>Fails every call of a method.</summary>
internal static class FailureHandler
{
    /// <summary>Creates a handler that fails with the status and message in a text: <c>NOT_FOUND: no such
    /// user</c>.</summary>
    /// <exception cref="UsageException">The text begins with no status.</exception>
    public static RpcMethodHandler Read(string option, string text)
    {
        int colon = text.IndexOf(':', StringComparison.Ordinal);
        string name = (colon < 0 ? text : text[..colon]).Trim();
        return StatusText.Find(name) is { } status && status != RpcStatusCode.OK
            ? Create(status, colon < 0 ? "" : text[(colon + 1)..].Trim())
            : throw new UsageException(
                $"{option} must be METHOD=STATUS: MESSAGE. '{name}' is not the status of a failure, such "
                + "as NOT_FOUND.");
    }

    public static RpcMethodHandler Create(RpcStatusCode status, string message) => RpcMethodHandler.OfStreams(
        (context, _) => throw new RpcException(status, message) { MethodName = context.Method.FullName });
}

/// <summary>Reads statuses as users and programs write them.</summary>
internal static class StatusText
{
    /// <summary>A status by its number or its name, with or without underscores: <c>5</c>,
    /// <c>NOT_FOUND</c>, <c>NotFound</c>. Null for anything else.</summary>
    public static RpcStatusCode? Find(string text)
    {
        string name = text.Replace("_", "", StringComparison.Ordinal);
        return name.Length > 0 && Enum.TryParse(name, ignoreCase: true, out RpcStatusCode status)
            && Enum.IsDefined(status) && !name.Contains(',')
                ? status
                : null;
    }
}

/// <summary>The value of an option that is for one method, <c>METHOD=VALUE</c>, or for all.</summary>
/// <param name="Method">The method's name; null where the value is for every method.</param>
/// <param name="Value">The value.</param>
internal sealed partial record MethodValue(string? Method, string Value)
{
    // JSON, @FILE and the path of a program never have this form before an equals sign.
    [GeneratedRegex(@"\A([A-Za-z_][\w.]*(?:/[A-Za-z_]\w*)?)=(.*)\z", RegexOptions.Singleline)]
    private static partial Regex OfOneMethod { get; }

    public static MethodValue Read(string text) => OfOneMethod.Match(text) is { Success: true } match
        ? new(match.Groups[1].Value, match.Groups[2].Value)
        : new(null, text);
}

/// <summary>Finds the methods that options name.</summary>
internal static class MethodNames
{
    private const int MaxShown = 10;

    /// <summary>A method by its bare name, <c>Service/Method</c> or its full name.</summary>
    /// <exception cref="UsageException">No method has the name, or several do.</exception>
    public static RpcMethodInfo Find(IReadOnlyList<RpcMethodInfo> methods, string name, string where)
    {
        RpcMethodInfo[] found =
        [
            .. methods.Where(method => name == method.Name || name == method.FullName
                || name == method.FullName.Replace('/', '.')
                || name == $"{method.Service.Name}/{method.Name}"
                || name == $"{method.Service.Name}.{method.Name}"),
        ];
        return found switch
        {
            [{ } only] => only,
            [] => throw new UsageException(
                $"{where} names the method '{name}', which is not served. Served are {List(methods)}."),
            _ => throw new UsageException(
                $"{where} names '{name}', which can be {List(found)}. Add the name of the service."),
        };
    }

    private static string List(IReadOnlyList<RpcMethodInfo> methods) =>
        string.Join(", ", methods.Take(MaxShown).Select(method => method.FullName))
        + (methods.Count > MaxShown ? ", ..." : "");
}
