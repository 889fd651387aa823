using System.Globalization;
using System.Text.Json;
using ProtoRpc.Formats;

namespace ProtoRpc.Tool.Replies;

/// <summary>Answers calls with replies that templates make of their requests.</summary>
/// <param name="method">The method.</param>
/// <param name="templates">A template for each reply.</param>
internal sealed class TemplateHandler(RpcMethodInfo method, IReadOnlyList<JsonTemplate> templates)
{
    private static readonly int MaxBytes = RpcLimits.Default.MaxMessageBytes;
    private readonly FormatOptions _format = new() { Schema = method.ReplyType.Schema };
    private long _calls;

    /// <summary>A handler of a method.</summary>
    /// <param name="method">The method.</param>
    /// <param name="json">The template; of a stream of replies an array of them, or one after the
    /// other.</param>
    /// <param name="where">The place of the template in the command line or a file, for errors.</param>
    /// <exception cref="RpcException">InvalidArgument: an array is not JSON.</exception>
    /// <exception cref="UsageException">It is not JSON, has an unknown placeholder, or there are
    /// several for one reply.</exception>
    public static RpcMethodHandler Create(RpcMethodInfo method, string json, string where)
    {
        IReadOnlyList<JsonPart> texts = JsonMessages.Split(method.ReplyType, json, method.IsServerStreaming);
        if (texts.Count != 1 && !method.IsServerStreaming)
        {
            throw new UsageException($"{where} has {texts.Count} replies, and {method.FullName} sends one.");
        }

        TemplateHandler handler = new(
            method,
            [
                .. texts.Select(text => JsonTemplate.Read(
                    text.Json, name => ReplyPlaceholder.Resolve(name, method, where), where)),
            ]);
        return RpcMethodHandler.OfStreams(handler.AnswerAsync);
    }

    // If both sides stream, sends a reply for each request; otherwise sends the replies for the last request.
    private async ValueTask AnswerAsync(RpcServerCallContext context, RpcServerStream stream)
    {
        long call = Interlocked.Increment(ref _calls);
        int count = 0;
        IMessage last = new DynamicMessage(method.RequestType);
        await foreach (IMessage request in stream.ReadAllAsync(context.CancellationToken))
        {
            last = request;
            count++;
            if (method.IsClientStreaming && method.IsServerStreaming)
            {
                await WriteAsync(stream, new ReplyValues(context, last, call, count));
            }
        }

        if (!method.IsClientStreaming || !method.IsServerStreaming)
        {
            await WriteAsync(stream, new ReplyValues(context, last, call, count));
        }
    }

    private async ValueTask WriteAsync(RpcServerStream stream, ReplyValues values)
    {
        foreach (JsonTemplate template in templates)
        {
            await stream.WriteAsync(Make(template, values));
        }
    }

    private DynamicMessage Make(JsonTemplate template, ReplyValues values)
    {
        byte[] json = template.Write(values, MaxBytes);
        try
        {
            return MessageFormats.Json.Read(method.ReplyType, json, _format);
        }
        catch (RpcException e)
        {
            throw new RpcException(
                RpcStatusCode.Internal, $"The template of {method.FullName} made no reply: {e.Message}", e);
        }
    }
}

/// <summary>The names of placeholders in replies.</summary>
internal static class ReplyPlaceholder
{
    /// <summary>The steps of a placeholder, by the names of the .proto file.</summary>
    /// <exception cref="UsageException">It is unknown for the method.</exception>
    public static string[] Resolve(string name, RpcMethodInfo method, string where)
    {
        string[] steps = name.Split('.');
        bool isKnown = steps switch
        {
            ["request", ..] => true,
            ["headers", .. { Length: > 0 }] => true,
            [var one] => ReplyValues.Names.Contains(one),
            _ => false,
        };
        if (!isKnown)
        {
            throw new UsageException(
                $"{where} has the placeholder '{{{{{name}}}}}', which is unknown. Use request, "
                + $"request.FIELD, headers.NAME, {string.Join(", ", ReplyValues.Names)}.");
        }

        return steps[0] switch
        {
            "request" => ["request", .. Fields(steps[1..], method, where)],

            // The names of headers may contain dots.
            "headers" => ["headers", string.Join('.', steps[1..]).ToLowerInvariant()],
            _ => steps,
        };
    }

    // Converts the path to the names of the .proto file, as far as the schema determines its parts.
    private static string[] Fields(string[] steps, RpcMethodInfo method, string where)
    {
        RpcMessageInfo? type = method.RequestType;
        for (int i = 0; i < steps.Length && type is not null; i++)
        {
            if (type.FullName.StartsWith("google.protobuf.", StringComparison.Ordinal))
            {
                break;
            }

            RpcFieldInfo field = type.FindField(steps[i])
                ?? throw new UsageException(
                    $"{where} has the placeholder '{{{{request.{string.Join('.', steps)}}}}}', and "
                    + $"{type.FullName} has no field '{steps[i]}'. Its fields are "
                    + $"{string.Join(", ", type.Fields.Select(one => one.Name))}.");
            steps[i] = field.Name;
            type = field.IsMap ? null : field.MessageType;
            if (field.IsRepeated && i + 1 < steps.Length)
            {
                // The next part is an index, or the key of a map.
                i++;
            }
        }

        return steps;
    }
}

/// <summary>The values of a template's placeholders for one call.</summary>
/// <param name="context">The call.</param>
/// <param name="request">The request; of a stream the last one.</param>
/// <param name="call">The number of the call at this method, from 1.</param>
/// <param name="count">The requests of the call so far.</param>
internal sealed class ReplyValues(RpcServerCallContext context, IMessage request, long call, int count)
    : TemplateValues
{
    private static readonly FormatOptions Format = new() { UseProtoNames = true, IncludeDefaults = true };
    private JsonElement? _request;

    /// <summary>The placeholders without steps.</summary>
    public static IReadOnlyList<string> Names { get; } =
        ["method", "user", "peer", "call", "count", "now", "uuid"];

    private JsonElement Request => _request ??= Parse(MessageFormats.Json.ToArray(request, Format));

    /// <summary>The value of a placeholder; null where the request does not have it.</summary>
    public override JsonElement? Find(string[] path)
    {
        if (path[0] != "request")
        {
            return path[0] switch
            {
                "call" => ToJson(call),
                "count" => ToJson(count),
                _ => ToJson(TextOfName(path)),
            };
        }

        JsonElement found = Request;
        foreach (string step in path.AsSpan(1))
        {
            switch (found.ValueKind)
            {
                case JsonValueKind.Object when found.TryGetProperty(step, out JsonElement member):
                    found = member;
                    break;
                case JsonValueKind.Array when int.TryParse(
                    step, NumberStyles.None, CultureInfo.InvariantCulture, out int index)
                    && index < found.GetArrayLength():
                    found = found[index];
                    break;
                default:
                    return null;
            }
        }

        return found;
    }

    private string TextOfName(string[] path) => path[0] switch
    {
        "headers" => context.RequestHeaders.GetText(path[1]) ?? "",
        "method" => context.Method.FullName,
        "user" => context.User.Name ?? "",
        "peer" => context.ClientAddress,
        "now" => Now,
        "uuid" => NewId,
        _ => "",
    };
}
