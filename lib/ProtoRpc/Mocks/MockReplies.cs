using System.Collections;
using System.Runtime.ExceptionServices;
using ProtoRpc.Messages;
using ProtoRpc.Server;

namespace ProtoRpc.Mocks;

/// <summary>The replies of a mock to the calls of a method.</summary>
internal abstract class MockReplies
{
    /// <summary>The reply to the next call.</summary>
    /// <param name="request">The call's only request; null where requests stream.</param>
    public abstract MockReply Next(IMessage? request);

    /// <summary>Whether the reply depends on the requests, so that all are read first.</summary>
    public virtual bool NeedsRequests => false;

    /// <summary>The reply to the next call, from all of its requests.</summary>
    public virtual MockReply Next(IReadOnlyList<IMessage> requests) => Next(requests.FirstOrDefault());

    /// <summary>Begins again with the first reply.</summary>
    public virtual void Reset()
    {
    }
}

/// <summary>Answers one after the other; the last one stays.</summary>
/// <param name="answers">The replies; at least one.</param>
internal sealed class RepliesInOrder(IReadOnlyList<MockReply> answers) : MockReplies
{
    private readonly Lock _gate = new();
    private int _next;

    public override MockReply Next(IMessage? request)
    {
        lock (_gate)
        {
            int index = _next;
            _next = Math.Min(index + 1, answers.Count - 1);
            return answers[index];
        }
    }

    public override void Reset()
    {
        lock (_gate)
        {
            _next = 0;
        }
    }
}

/// <summary>The template of the method's reply, created with the first call.</summary>
/// <param name="method">The method.</param>
internal sealed class TemplateReplies(RpcMethodInfo method) : MockReplies
{
    private readonly Lazy<MockReply> _answer =
        new(() => new GivenReply([TemplateReply.Create(method)], failure: null));

    public override MockReply Next(IMessage? request) => _answer.Value;
}

/// <summary>The reply of a mock to one call.</summary>
internal abstract class MockReply
{
    /// <summary>Answers a call with one request and one reply.</summary>
    public abstract ValueTask<IMessage> AnswerAsync(RpcServerCallContext context, IMessage request);

    /// <summary>Answers a call that streams.</summary>
    public abstract ValueTask AnswerAsync(RpcServerCallContext context, RpcServerStream stream);

    /// <summary>Reads all requests, so that they are recorded and their sender receives errors about
    /// them.</summary>
    public static async ValueTask ReadAllAsync(RpcServerStream stream)
    {
        while (await stream.ReadAsync().ConfigureAwait(false) is not null)
        {
        }
    }
}

/// <summary>Messages, and after them a failure or none.</summary>
/// <param name="messages">The messages.</param>
/// <param name="failure">How the call ends after them; null for OK.</param>
internal sealed class GivenReply(IReadOnlyList<IMessage> messages, Exception? failure) : MockReply
{
    public override ValueTask<IMessage> AnswerAsync(RpcServerCallContext context, IMessage request)
    {
        ThrowFailure(context);
        return ValueTask.FromResult(messages[0]);
    }

    public override async ValueTask AnswerAsync(RpcServerCallContext context, RpcServerStream stream)
    {
        // A client that streams in both directions may wait for a reply before it sends more.
        bool isDuplex = context.Method.IsClientStreaming && context.Method.IsServerStreaming;
        if (!isDuplex)
        {
            await ReadAllAsync(stream).ConfigureAwait(false);
        }

        foreach (IMessage message in messages)
        {
            await stream.WriteAsync(message).ConfigureAwait(false);
        }

        ThrowFailure(context);
        if (isDuplex)
        {
            await ReadAllAsync(stream).ConfigureAwait(false);
        }
    }

    private void ThrowFailure(RpcServerCallContext context)
    {
        if (failure is not RpcException rpc)
        {
            if (failure is not null)
            {
                ExceptionDispatchInfo.Throw(failure);
            }

            return;
        }

        foreach ((string name, string value) in rpc.Trailers)
        {
            context.ReplyTrailers.Set(name, value);
        }

        // A new exception for each call, because several threads throw the same failure. It is not one of
        // ProtoRpc's, so the caller receives the text of the test's author.
        throw new RpcException(rpc.Code, rpc.Message, rpc.InnerException, isByProtoRpc: false)
        {
            Details = rpc.Details,
            Extensions = rpc.Extensions,
        };
    }
}

/// <summary>A handler.</summary>
/// <param name="method">The method with the handler.</param>
internal sealed class MockHandlerReply(ServerMethod method) : MockReply
{
    public override ValueTask<IMessage> AnswerAsync(RpcServerCallContext context, IMessage request) =>
        method.Chain(context, ReadAgain(request, context));

    public override ValueTask AnswerAsync(RpcServerCallContext context, RpcServerStream stream) =>
        method.StreamChain(context, method.IsTyped ? new TypedStream(this, context, stream, method) : stream);

    // The mock parses requests as dynamic messages, but the handler may expect a generated class.
    private IMessage ReadAgain(IMessage request, RpcServerCallContext context) =>
        method.IsTyped ? method.ReadRequest(request.ToByteArray(), context) : request;

    private sealed class TypedStream(
        MockHandlerReply owner, RpcServerCallContext context, RpcServerStream inner, ServerMethod method)
        : RpcServerStream(method)
    {
        internal override async ValueTask<IMessage?> ReceiveAsync() =>
            await inner.ReadAsync().ConfigureAwait(false) is { } request
                ? owner.ReadAgain(request, context)
                : null;

        internal override ValueTask SendAsync(IMessage reply, bool compress) =>
            inner.WriteAsync(reply, compress);
    }
}

/// <summary>Creates replies from messages, objects, lists of them for streams, exceptions and
/// handlers.</summary>
/// <param name="mapper">Makes messages of objects.</param>
internal sealed class MockReplyReader(MessageMapper mapper)
{
    /// <summary>The replies, in the order of the calls.</summary>
    /// <exception cref="RpcException">InvalidArgument: one does not fit the method, and why.</exception>
    public MockReplies Read(RpcMethodInfo method, IReadOnlyList<object> replies) => replies.Count == 0
        ? throw Invalid($"{method.FullName} has no reply. Give one, or remove the method.")
        : new RepliesInOrder([.. replies.Select((reply, index) => ReadOne(method, reply, index))]);

    /// <summary>Whether an array or list is one stream of messages. <c>new[] { a, b }</c> of a message type
    /// is also a list of objects, by covariance.</summary>
    public static bool IsStream(IReadOnlyList<object> replies) =>
        (replies is IReadOnlyList<IMessage>
            || (replies is Array && replies.GetType().GetElementType() != typeof(object)))
        && replies.All(reply => reply is IMessage or IDictionary
            || reply is not (null or string or ValueType or Exception or RpcMethodHandler or IEnumerable));

    private MockReply ReadOne(RpcMethodInfo method, object reply, int index) => reply switch
    {
        Exception failure => new GivenReply([], failure),
        RpcMethodHandler handler => new MockHandlerReply(handler.Bind(method)),
        null or string or ValueType => throw Invalid(
            $"Reply {index + 1} of {method.FullName} is not a message: {reply ?? "null"}. Give an object "
            + "with the fields of the reply, an exception, or a handler."),
        IEnumerable list and not (IDictionary or IMessage) => ReadStream(method, list, index),
        _ => new GivenReply([PreparedReplies.Encode(method, reply, mapper, Name(index))], failure: null),
    };

    private GivenReply ReadStream(RpcMethodInfo method, IEnumerable list, int index)
    {
        if (!method.IsServerStreaming)
        {
            throw Invalid(
                $"Reply {index + 1} of {method.FullName} is a list, but the method sends one message.");
        }

        List<IMessage> messages = [];
        Exception? failure = null;
        foreach (object? item in list)
        {
            if (failure is not null)
            {
                throw Invalid(
                    $"Reply {index + 1} of {method.FullName} has more after its exception, which ends the "
                    + "stream.");
            }

            failure = item as Exception;
            if (failure is null)
            {
                string name = $"Message {messages.Count + 1} of reply {index + 1}";
                messages.Add(PreparedReplies.Encode(
                    method, item ?? throw Invalid($"{name} of {method.FullName} is null."), mapper, name));
            }
        }

        return new GivenReply(messages, failure);
    }

    private static string Name(int index) => $"Reply {index + 1}";

    private static RpcException Invalid(string message) =>
        new(RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidHandler, message);
}

/// <summary>The reply of a mock for a method without a given reply.</summary>
internal static class TemplateReply
{
    /// <summary>A valid reply: the template of its type or, if the template lacks a required field, only the
    /// required fields.</summary>
    /// <exception cref="RpcException">Unimplemented: no message of the type can have all its required
    /// fields.</exception>
    public static DynamicMessage Create(RpcMethodInfo method)
    {
        MessageMapper mapper = new() { TakesRows = false };
        try
        {
            return mapper.ToMessage(method.ReplyType, mapper.Template(method.ReplyType));
        }
        catch (RpcException)
        {
            DynamicMessage message = new(method.ReplyType);
            if (TryFill(message, []))
            {
                return message;
            }

            throw new RpcException(
                RpcStatusCode.Unimplemented,
                $"{method.FullName} has no template reply: a required field of {method.ReplyType.FullName} "
                + "requires its own type again. Give the mock a reply for the method.",
                isByProtoRpc: false);
        }
    }

    private static bool TryFill(DynamicMessage message, HashSet<MessageLayout> path)
    {
        if (!path.Add(message.Layout))
        {
            return false;
        }

        foreach (FieldLayout field in message.Layout.Required)
        {
            if (!field.IsMessage)
            {
                message.Set(field.Info, DefaultOf(field));
                continue;
            }

            DynamicMessage child = new(field.Message);
            if (!TryFill(child, path))
            {
                return false;
            }

            message.Set(field.Info, child);
        }

        path.Remove(message.Layout);
        return true;
    }

    private static object DefaultOf(FieldLayout field) => field.Kind switch
    {
        RpcFieldKind.String => field.Info.DefaultValue as string ?? "",
        RpcFieldKind.Bytes => FieldValues.BytesDefault(field),
        RpcFieldKind.Enum => field.Info.DefaultValue as int? ?? field.Enum!.Values[0].Value,
        _ => field.Info.DefaultValue ?? ScalarValue.Box(field.Kind, 0),
    };
}
