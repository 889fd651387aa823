using System.Collections;
using Google.Protobuf;
using ProtoRpc.Server;

namespace ProtoRpc.Mocks;

/// <summary>Makes answers of what a test gives: messages, objects, lists of them for streams, exceptions,
/// handlers.</summary>
/// <param name="mapper">Makes messages of objects.</param>
internal sealed class AnswerReader(MessageMapper mapper)
{
    /// <summary>The answers, in the order of the calls that get them.</summary>
    /// <exception cref="RpcException">InvalidArgument: one does not fit the method, and why.</exception>
    public MockAnswers Read(RpcMethodInfo method, IReadOnlyList<object> replies) => replies.Count == 0
        ? throw Invalid($"{method.FullName} has no reply. Give one, or remove the method.")
        : new AnswersInOrder([.. replies.Select((reply, index) => ReadOne(method, reply, index))]);

    /// <summary>Whether an array or list is one stream of messages. <c>new[] { a, b }</c> of a message type
    /// is also a list of objects, by covariance.</summary>
    public static bool IsStream(IReadOnlyList<object> replies) =>
        (replies is IReadOnlyList<IMessage>
            || (replies is Array && replies.GetType().GetElementType() != typeof(object)))
        && replies.All(reply => reply is IMessage or IDictionary
            || reply is not (null or string or ValueType or Exception or RpcMethodHandler or IEnumerable));

    private MockAnswer ReadOne(RpcMethodInfo method, object reply, int index) => reply switch
    {
        Exception failure => new GivenAnswer([], failure),
        RpcMethodHandler handler => new HandlerAnswer(handler.Bind(method)),
        null or string or ValueType => throw Invalid(
            $"Reply {index + 1} of {method.FullName} is not a message: {reply ?? "null"}. Give an object "
            + "with the fields of the reply, an exception, or a handler."),
        IEnumerable list and not (IDictionary or IMessage) => ReadStream(method, list, index),
        _ => new GivenAnswer([CannedReplies.Encode(method, reply, mapper, Name(index))], failure: null),
    };

    private GivenAnswer ReadStream(RpcMethodInfo method, IEnumerable list, int index)
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
                messages.Add(CannedReplies.Encode(
                    method, item ?? throw Invalid($"{name} of {method.FullName} is null."), mapper, name));
            }
        }

        return new GivenAnswer(messages, failure);
    }

    private static string Name(int index) => $"Reply {index + 1}";

    private static RpcException Invalid(string message) =>
        new(RpcStatusCode.InvalidArgument, message) { ErrorId = RpcErrorIds.InvalidHandler };
}
