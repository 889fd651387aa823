using Google.Protobuf;

namespace ProtoRpc.Mocks;

/// <summary>What a mock answers to the calls of a method.</summary>
internal abstract class MockAnswers
{
    /// <summary>The answer to the next call.</summary>
    /// <param name="request">The call's only request; null where requests stream.</param>
    public abstract MockAnswer Next(IMessage? request);

    /// <summary>Whether the answer depends on the requests, so that all are read first.</summary>
    public virtual bool NeedsRequests => false;

    /// <summary>The answer to the next call, by all of its requests.</summary>
    public virtual MockAnswer Next(IReadOnlyList<IMessage> requests) => Next(requests.FirstOrDefault());

    /// <summary>Begins again with the first answer.</summary>
    public virtual void Reset()
    {
    }
}

/// <summary>Answers one after the other; the last one stays.</summary>
/// <param name="answers">The answers; one at least.</param>
internal sealed class AnswersInOrder(IReadOnlyList<MockAnswer> answers) : MockAnswers
{
    private readonly Lock _gate = new();
    private int _next;

    /// <inheritdoc/>
    public override MockAnswer Next(IMessage? request)
    {
        lock (_gate)
        {
            int index = _next;
            _next = Math.Min(index + 1, answers.Count - 1);
            return answers[index];
        }
    }

    /// <inheritdoc/>
    public override void Reset()
    {
        lock (_gate)
        {
            _next = 0;
        }
    }
}

/// <summary>The template of the method's reply, made with the first call.</summary>
/// <param name="method">The method.</param>
internal sealed class TemplateAnswers(RpcMethodInfo method) : MockAnswers
{
    private readonly Lazy<MockAnswer> _answer =
        new(() => new GivenAnswer([TemplateReply.Of(method)], failure: null));

    /// <inheritdoc/>
    public override MockAnswer Next(IMessage? request) => _answer.Value;
}
