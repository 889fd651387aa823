using Google.Protobuf;
using ProtoRpc.Formats.Sequences;

namespace ProtoRpc.Tool.Answers;

/// <summary>Answers calls with replies that templates make of their requests.</summary>
/// <param name="method">The method.</param>
/// <param name="templates">A template for each reply.</param>
internal sealed class TemplateHandler(RpcMethodInfo method, IReadOnlyList<ReplyTemplate> templates)
{
    private static readonly int MaxBytes = RpcLimits.Default.MaxMessageBytes;
    private readonly FormatOptions _format = new() { Schema = method.ReplyType.Schema };
    private long _calls;

    /// <summary>A handler of a method.</summary>
    /// <param name="method">The method.</param>
    /// <param name="json">The template; of a stream of replies an array of them, or one after the
    /// other.</param>
    /// <param name="where">Where it stood, for errors.</param>
    /// <exception cref="RpcException">InvalidArgument: an array is not JSON.</exception>
    /// <exception cref="UsageException">It is not JSON, has an unknown placeholder, or there are
    /// several for one reply.</exception>
    public static RpcMethodHandler Create(RpcMethodInfo method, string json, string where)
    {
        IReadOnlyList<JsonPart> texts = JsonMessages.Split(
            method.ReplyType, json, method.IsServerStreaming);
        if (texts.Count != 1 && !method.IsServerStreaming)
        {
            throw new UsageException(
                $"{where} has {texts.Count} replies, and {method.FullName} sends one.");
        }

        TemplateHandler handler = new(
            method, [.. texts.Select(text => ReplyTemplate.Read(text.Json, method, where))]);
        return RpcMethodHandler.OfStreams(handler.AnswerAsync);
    }

    // A reply for each request of two streams; else the replies for the last request.
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
                await WriteAsync(stream, new TemplateValues(context, last, call, count));
            }
        }

        if (!method.IsClientStreaming || !method.IsServerStreaming)
        {
            await WriteAsync(stream, new TemplateValues(context, last, call, count));
        }
    }

    private async ValueTask WriteAsync(RpcServerStream stream, TemplateValues values)
    {
        foreach (ReplyTemplate template in templates)
        {
            await stream.WriteAsync(Make(template, values));
        }
    }

    private DynamicMessage Make(ReplyTemplate template, TemplateValues values)
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
